//! Instructions of BPF, written one by one (Documentation/bpf/standardization/instruction-set.rst).

use std::os::fd::{AsRawFd as _, OwnedFd};

/// One instruction (`struct bpf_insn`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BpfInstruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// A register. R0 has a call's result, R1 to R5 its arguments, R6 to R9 survive it, R10 is the end of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R6 = 6,
    R7,
    R8,
    R9,
    R10,
}

/// Width of an access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AccessWidth {
    Four = 0x00,
    Two = 0x08,
    Eight = 0x18,
}

/// Functions of the kernel (`enum bpf_func_id`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum KernelFunction {
    LookUp = 1,
    Update = 2,
    Delete = 3,
    Time = 5,
    CurrentCpu = 8,
    ReadMemory = 113,
    CurrentTask = 158,
    UserRegisters = 175,
}

use Register::{R1, R2, R10};

/// Value of the source register in a load of an address: a map by its descriptor.
const MAP_BY_DESCRIPTOR: u8 = 1;

/// A jump to a place that is not known yet.
#[must_use]
#[derive(Debug)]
pub struct OpenJump(usize);

/// A program that is being written.
#[derive(Debug, Default)]
pub struct ProgramText {
    pub instructions: Vec<BpfInstruction>,
}

impl ProgramText {
    fn push(&mut self, code: u8, to: Register, from: u8, offset: i16, immediate: i32) {
        // Registers are bit fields: their order is that of the machine's bytes.
        let registers = if cfg!(target_endian = "little") { to as u8 | from << 4 } else { (to as u8) << 4 | from };
        self.instructions.push(BpfInstruction { code, registers, offset, immediate });
    }

    /// `to = *(from + offset)`
    pub fn load(&mut self, width: AccessWidth, to: Register, from: Register, offset: i16) {
        self.push(0x61 | width as u8, to, from as u8, offset, 0);
    }

    /// `*(to + offset) = from`
    pub fn store(&mut self, width: AccessWidth, to: Register, offset: i16, from: Register) {
        self.push(0x63 | width as u8, to, from as u8, offset, 0);
    }

    /// `*(to + offset) += from`, atomically, eight bytes.
    pub fn add_to_memory(&mut self, to: Register, offset: i16, from: Register) {
        self.push(0xdb, to, from as u8, offset, 0);
    }

    /// `to = from`
    pub fn copy(&mut self, to: Register, from: Register) {
        self.push(0xbf, to, from as u8, 0, 0);
    }

    /// `to = number`
    pub fn set(&mut self, to: Register, number: i32) {
        self.push(0xb7, to, 0, 0, number);
    }

    /// `to += from`
    pub fn add(&mut self, to: Register, from: Register) {
        self.push(0x0f, to, from as u8, 0, 0);
    }

    /// `to -= from`
    pub fn subtract(&mut self, to: Register, from: Register) {
        self.push(0x1f, to, from as u8, 0, 0);
    }

    /// `to &= number`
    pub fn mask(&mut self, to: Register, number: i32) {
        self.push(0x57, to, 0, 0, number);
    }

    /// `to |= from`
    pub fn combine(&mut self, to: Register, from: Register) {
        self.push(0x4f, to, from as u8, 0, 0);
    }

    /// `to` is the address of a place in the stack.
    pub fn point_to_stack(&mut self, to: Register, offset: i16) {
        self.copy(to, R10);
        self.advance(to, i32::from(offset));
    }

    /// `to += number`
    pub fn advance(&mut self, to: Register, number: i32) {
        self.push(0x07, to, 0, 0, number);
    }

    /// Calls a function of the kernel.
    pub fn call(&mut self, function: KernelFunction) {
        self.push(0x85, Register::R0, 0, 0, function as i32);
    }

    /// Reads the kernel's memory at the address in R3 into the stack. R0 is 0, or the kernel's error.
    pub fn read_memory(&mut self, to: i16, bytes: i32) {
        self.point_to_stack(R1, to);
        self.set(R2, bytes);
        self.call(KernelFunction::ReadMemory);
    }

    /// Ends the program.
    pub fn exit(&mut self) {
        self.set(Register::R0, 0);
        self.give_back();
    }

    /// Ends the program with the result in R0.
    pub fn give_back(&mut self) {
        self.push(0x95, Register::R0, 0, 0, 0);
    }

    /// `to` is the map of a descriptor.
    pub fn load_map(&mut self, to: Register, map: &OwnedFd) {
        self.push(0x18, to, MAP_BY_DESCRIPTOR, 0, map.as_raw_fd());
        self.instructions.push(BpfInstruction::default());
    }

    /// R0 is the address of a map's value, or 0; the key lies in the stack.
    pub fn look_up(&mut self, map: &OwnedFd, key: i16) {
        self.load_map(R1, map);
        self.point_to_stack(R2, key);
        self.call(KernelFunction::LookUp);
    }

    /// Writes a value into a map; key and value lie in the stack.
    pub fn update(&mut self, map: &OwnedFd, key: i16, value: i16, only_new: bool) {
        self.load_map(R1, map);
        self.point_to_stack(R2, key);
        self.point_to_stack(Register::R3, value);
        self.set(Register::R4, i32::from(only_new));
        self.call(KernelFunction::Update);
    }

    /// Jumps if `register` equals `number`.
    pub fn jump_if_equal(&mut self, register: Register, number: i32) -> OpenJump {
        self.push(0x15, register, 0, 0, number);
        OpenJump(self.instructions.len() - 1)
    }

    /// Jumps if `register` does not equal `number`.
    pub fn jump_if_other(&mut self, register: Register, number: i32) -> OpenJump {
        self.push(0x55, register, 0, 0, number);
        OpenJump(self.instructions.len() - 1)
    }

    /// Jumps if the lower half of `register` does not equal `number`.
    pub fn jump_if_half_differs(&mut self, register: Register, number: u32) -> OpenJump {
        self.push(0x56, register, 0, 0, number.cast_signed());
        OpenJump(self.instructions.len() - 1)
    }

    /// Jumps if `register` is less than `number`; both are positive.
    pub fn jump_if_less(&mut self, register: Register, number: i32) -> OpenJump {
        self.push(0xa5, register, 0, 0, number);
        OpenJump(self.instructions.len() - 1)
    }

    /// Jumps if two registers are equal.
    pub fn jump_if_same(&mut self, one: Register, other: Register) -> OpenJump {
        self.push(0x1d, one, other as u8, 0, 0);
        OpenJump(self.instructions.len() - 1)
    }

    /// Jumps.
    pub fn jump(&mut self) -> OpenJump {
        self.push(0x05, Register::R0, 0, 0, 0);
        OpenJump(self.instructions.len() - 1)
    }

    /// Jumps lead to the next instruction.
    pub fn land(&mut self, jumps: impl IntoIterator<Item = OpenJump>) {
        let next = self.instructions.len();
        for OpenJump(at) in jumps {
            self.instructions[at].offset = (next - at - 1) as i16;
        }
    }
}
