//! The table by which the kernel numbers the cpus: ACPI's MADT, with the cpus in the order of the description.
//!
//! The emulator lists cpus in the order of their APIC ids, so that siblings are neighbours. The kernel numbers cpus in the order of this
//! table, and takes a newer table from the front of its initial file system (its documentation: admin-guide/acpi/initrd_table_override).
//! The layout is that of the ACPI specification 6.5, section 5.2.12; the interrupts are those on the emulator's q35 board.

use crate::{CpuSeat, RigMachine};

/// Path at which the kernel finds the table.
pub const PATH: &str = "kernel/firmware/acpi/madt.aml";

/// Maker and name of the emulator's table: the kernel replaces a table only by one with the same.
const MAKER: &[u8; 6] = b"BOCHS ";
const TABLE: &[u8; 8] = b"BXPC    ";
/// Revision, newer than the emulator's, which is 1.
const REVISION: u32 = 2;
const LOCAL_APIC_ADDRESS: u32 = 0xfee0_0000;
const IO_APIC_ADDRESS: u32 = 0xfec0_0000;
/// Interrupt lines of the old bus that are level-triggered and active high on the board.
const LEVEL_TRIGGERED: [u8; 4] = [5, 9, 10, 11];
const ACTIVE_HIGH_LEVEL: u16 = 0b1101;

/// Builds the whole table for a machine.
pub fn build_madt(machine: &RigMachine) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(LOCAL_APIC_ADDRESS.to_le_bytes());
    // The board also has the old pair of 8259 interrupt controllers.
    body.extend(1_u32.to_le_bytes());
    let slots = machine.emulator_slots();
    for place in machine.cpu_places() {
        // The processor's number is the emulator's slot number, as in its other tables.
        let number = slots.iter().position(|slot| *slot == place).unwrap_or(0);
        body.extend([0, 8, number as u8, apic_id(machine, place)]);
        body.extend(1_u32.to_le_bytes());
    }
    add_interrupts(&mut body);
    with_header(&body)
}

/// Returns the APIC id of a place: its numbers side by side, each as wide as the largest needs.
pub fn apic_id(machine: &RigMachine, place: CpuSeat) -> u8 {
    let width = |count: u32| u32::BITS - (count - 1).leading_zeros();
    let threads = width(machine.threads_per_core());
    let cores = width(machine.cores);
    let dies = width(machine.dies);
    let core = place.core << threads;
    let die = place.die << (threads + cores);
    let package = place.package << (threads + cores + dies);
    u8::try_from(package | die | core | place.thread).expect("rig machines have APIC ids below 255")
}

/// Appends the I/O APIC, the lines that are not wired one to one, and the line for non-maskable interrupts.
fn add_interrupts(body: &mut Vec<u8>) {
    body.extend([1, 12, 0, 0]);
    body.extend(IO_APIC_ADDRESS.to_le_bytes());
    body.extend(0_u32.to_le_bytes());
    let mut redirect = |source: u8, line: u32, flags: u16| {
        body.extend([2, 10, 0, source]);
        body.extend(line.to_le_bytes());
        body.extend(flags.to_le_bytes());
    };
    redirect(0, 2, 0);
    LEVEL_TRIGGERED.into_iter().for_each(|source| redirect(source, source.into(), ACTIVE_HIGH_LEVEL));
    body.extend([4, 6, 0xff, 0, 0, 1]);
}

/// Prepends the header, with the checksum that makes the sum of all bytes zero.
fn with_header(body: &[u8]) -> Vec<u8> {
    const HEADER_BYTES: usize = 36;
    const CHECKSUM: usize = 9;
    let mut table = Vec::with_capacity(HEADER_BYTES + body.len());
    table.extend(b"APIC");
    table.extend(((HEADER_BYTES + body.len()) as u32).to_le_bytes());
    table.extend([1, 0]);
    table.extend(MAKER);
    table.extend(TABLE);
    table.extend(REVISION.to_le_bytes());
    table.extend(b"RIG ");
    table.extend(1_u32.to_le_bytes());
    table.extend(body);
    let sum = table.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    table[CHECKSUM] = sum.wrapping_neg();
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find_machine;

    #[test]
    fn the_table_adds_up_and_names_its_length() {
        for machine in &crate::MACHINES {
            let table = build_madt(machine);
            assert_eq!(table.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)), 0, "{}", machine.name);
            assert_eq!(table[4..8], (table.len() as u32).to_le_bytes(), "{}", machine.name);
        }
    }

    #[test]
    fn cpus_are_listed_in_the_order_of_their_numbers() {
        let listed = |name: &str| -> Vec<u8> {
            let machine = find_machine(name).unwrap();
            let entries = &build_madt(machine)[44..44 + 8 * machine.cpu_places().len()];
            entries.chunks(8).map(|entry| entry[3]).collect()
        };
        assert_eq!(listed("fx-8150"), [0, 1, 2, 3, 4, 5, 6, 7]);
        // Three cores of a die need two bits, so the second die begins at 8.
        assert_eq!(listed("threadripper-3960x")[..6], [0, 2, 4, 8, 10, 12]);
        assert_eq!(listed("threadripper-3960x")[24..30], [1, 3, 5, 9, 11, 13]);
        assert_eq!(listed("hybrid"), [0, 1, 2, 3, 4, 6, 8, 10]);
    }
}
