//! The archive that the kernel unpacks as its initial file system: cpio in its "newc" form.
//!
//! Layout: the kernel's documentation, driver-api/early-userspace/buffer-format. Every entry is a header of 13 numbers of eight
//! hexadecimal digits after a magic word, the name, and the data, each padded to four bytes.

const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const LAST: &str = "TRAILER!!!";

/// An archive that grows entry by entry.
#[derive(Debug, Default)]
pub struct CpioArchive {
    bytes: Vec<u8>,
    entries: u32,
    folders: std::collections::BTreeSet<String>,
}

impl CpioArchive {
    /// Adds a file with its permissions (such as 0o755), and its parent folders. Paths have no leading slash.
    pub fn add_file(&mut self, path: &str, permissions: u32, data: &[u8]) {
        self.folders_of(path);
        self.add_entry(path, FILE | permissions, data);
    }

    /// Adds a symbolic link.
    pub fn add_link(&mut self, path: &str, target: &str) {
        self.folders_of(path);
        self.add_entry(path, LINK | 0o777, target.as_bytes());
    }

    /// Adds an empty folder.
    pub fn add_folder(&mut self, path: &str, permissions: u32) {
        self.folders_of(path);
        if self.folders.insert(path.to_owned()) {
            self.add_entry(path, FOLDER | permissions, &[]);
        }
    }

    /// Returns the whole archive.
    pub fn finish_archive(mut self) -> Vec<u8> {
        self.add_entry(LAST, 0, &[]);
        self.bytes
    }

    fn folders_of(&mut self, path: &str) {
        for (end, _) in path.match_indices('/') {
            let folder = &path[..end];
            if self.folders.insert(folder.to_owned()) {
                self.add_entry(folder, FOLDER | 0o755, &[]);
            }
        }
    }

    fn add_entry(&mut self, name: &str, mode: u32, data: &[u8]) {
        self.entries += 1;
        let size = u32::try_from(data.len()).expect("a file of less than 4 GiB");
        // Inode, mode, user, group, links, time, size, four device numbers, the name's length with its end, no checksum.
        let numbers = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name.len() as u32 + 1, 0];
        self.bytes.extend(b"070701");
        numbers.iter().for_each(|number| self.bytes.extend(format!("{number:08x}").bytes()));
        self.bytes.extend(name.bytes().chain([0]));
        self.pad_to_four();
        self.bytes.extend(data);
        self.pad_to_four();
    }

    fn pad_to_four(&mut self) {
        let padded = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(padded, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_laid_out_as_the_kernel_reads_them() {
        let mut archive = CpioArchive::default();
        archive.add_file("a/b", 0o644, b"hello");
        archive.add_file("a/c", 0o600, b"");
        let bytes = archive.finish_archive();
        let folder = "07070100000001000041ed00000000000000000000000100000000000000000000000000000000\
                      000000000000000000000002"
            .to_owned()
            + "00000000a\0";
        assert_eq!(String::from_utf8_lossy(&bytes[..112]), folder);
        assert_eq!(&bytes[112..118], b"070701");
        assert_eq!(&bytes[112 + 54..112 + 62], b"00000005");
        assert_eq!(&bytes[112 + 110..112 + 124], b"a/b\0\0\0hello\0\0\0");
        // The folder stands once, and everything is padded.
        assert_eq!(bytes.windows(6).filter(|window| window == b"070701").count(), 4);
        assert_eq!(bytes.len() % 4, 0);
        assert!(bytes.ends_with(b"TRAILER!!!\0\0\0\0") || bytes.ends_with(b"TRAILER!!!\0"));
    }
}
