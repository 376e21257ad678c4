//! Identity of a machine: its model, and a short hash that distinguishes it from others of that model.

/// First input of the hash of a host, so that it is no hash which another program stores.
const SALT: &str = "corewise host 1";
/// Start value of FNV-1a.
const START: u64 = 0xcbf2_9ce4_8422_2325;

/// Returns true if two identities (`Machine::identity`) may be of one machine: the fingerprints are equal, and the hosts too, unless one
/// of them is unknown.
pub fn is_same_machine(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|identity| identity.split_once('-').unwrap_or((identity, "")));
    one.0 == other.0 && (one.1 == other.1 || one.1.is_empty() || other.1.is_empty())
}

/// Returns the hash of a host: 48 bits in hexadecimal, too few to compute the id from. The name counts too, since clones
/// share an id.
pub fn hash_host(id: &str, name: &str) -> String {
    let hash = hash_texts([SALT, id, name]);
    format!("{:012x}", (hash ^ hash >> 16) & 0xffff_ffff_ffff)
}

/// Returns the 64-bit FNV-1a hash of some texts, each followed by a zero byte.
pub(crate) fn hash_texts<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> u64 {
    texts.into_iter().fold(START, |hash, text| {
        let bytes = text.as_ref().bytes().chain([0]);
        bytes.fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;
    use crate::generate::one_package_machine;

    #[test]
    fn machines_of_one_model_are_told_apart_by_host() {
        let with = |cpus, host: Option<String>| {
            let mut machine = one_package_machine(cpus, false, &[]);
            machine.system.host = host;
            machine
        };
        let of = |id, name| Some(hash_host(id, name));
        let (one, clone) = (with(4, of("aa", "n1")), with(4, of("aa", "n2")));
        assert_eq!(one.fingerprint(), clone.fingerprint());
        let is_same = |one: &Machine, other: &Machine| is_same_machine(&one.identity(), &other.identity());
        assert!(is_same(&one, &one.clone()) && !is_same(&one, &clone) && !is_same(&one, &with(4, of("ab", "n1"))));
        // Results of earlier versions have no host, and containers may have no id.
        let unknown = with(4, None);
        assert!(is_same(&one, &unknown) && is_same(&unknown, &clone) && is_same(&unknown, &unknown));
        assert!(!is_same(&one, &with(8, of("aa", "n1"))) && !is_same(&unknown, &with(8, None)));
    }

    #[test]
    fn a_hash_has_twelve_digits_and_stays_the_same() {
        assert_eq!(hash_host("0123456789abcdef0123456789abcdef", "n1"), "57100f4f649d");
        for name in ["", "n1", "n2"] {
            let hash = hash_host("id", name);
            assert!(hash.len() == 12 && hash.bytes().all(|digit| digit.is_ascii_hexdigit()), "{hash}");
        }
        assert_ne!(hash_host("a", "b"), hash_host("ab", ""));
    }
}
