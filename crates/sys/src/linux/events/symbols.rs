//! Names of the kernel's functions by address: /proc/kallsyms.

/// The kernel's functions by rising address; empty if addresses are hidden (kernel.kptr_restrict).
#[derive(Clone, Debug, Default)]
pub struct KernelSymbols {
    addresses: Vec<u64>,
    names: Vec<Box<str>>,
}

impl KernelSymbols {
    /// Reads the functions of the running kernel.
    pub fn of_this_kernel() -> Self {
        std::fs::read_to_string("/proc/kallsyms").map_or_else(|_| Self::default(), |text| Self::parse(&text))
    }

    /// Parses lines such as "ffffffff81000000 T _text"; keeps functions only.
    pub fn parse(text: &str) -> Self {
        let mut found: Vec<(u64, &str)> = text.lines().filter_map(parse_function).collect();
        found.sort_unstable();
        let addresses = found.iter().map(|(address, _)| *address).collect();
        Self { addresses, names: found.into_iter().map(|(_, name)| name.into()).collect() }
    }

    /// Returns the function that contains an address; empty if unknown.
    pub fn function_name(&self, address: u64) -> String {
        match self.addresses.partition_point(|begin| *begin <= address).checked_sub(1) {
            Some(at) if address != 0 => self.names[at].to_string(),
            _ => String::new(),
        }
    }
}

fn parse_function(line: &str) -> Option<(u64, &str)> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok().filter(|address| *address != 0)?;
    matches!(words.next()?, "t" | "T" | "w" | "W").then_some((address, words.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_the_function_that_begins_before_it() {
        let symbols =
            KernelSymbols::parse("ffffffff81000100 T do_sync_core\nffffffff81000000 t stop\nffffffff81000180 D data\n");
        assert_eq!(symbols.function_name(0xffff_ffff_8100_0104), "do_sync_core");
        assert_eq!(symbols.function_name(0xffff_ffff_8100_0100), "do_sync_core");
        assert_eq!(symbols.function_name(0xffff_ffff_8100_00ff), "stop");
        assert_eq!(symbols.function_name(0x1000), "");
        assert_eq!(symbols.function_name(0), "");
    }

    #[test]
    fn hidden_addresses_name_nothing() {
        let symbols = KernelSymbols::parse("0000000000000000 T do_sync_core\nnonsense\n");
        assert_eq!(symbols.function_name(0xffff_ffff_8100_0104), "");
    }
}
