use super::*;
use proptest::prelude::*;

fn list(text: &str) -> CpuSet {
    CpuSet::parse_list(text).unwrap()
}

#[test]
fn lists_of_the_kernel_are_read() {
    assert_eq!(list("0-3,8\n").iter().collect::<Vec<_>>(), [0, 1, 2, 3, 8]);
    assert_eq!(list(" ").len(), 0);
    assert_eq!(list("0-31:2"), (0..32).step_by(2).collect());
    assert_eq!(list("0-15:2/8"), list("0,1,8,9"));
    assert_eq!(list("1500-1535").len(), 36);
}

#[test]
fn wrong_lists_say_where() {
    let error = |text: &str| CpuSet::parse_list(text).unwrap_err().to_string();
    assert_eq!(error("0-3,x"), "expected a cpu number or a range such as 0-3, found \"x\" at character 5");
    assert_eq!(error("3-1"), "the range 3-1 ends before it begins");
    assert_eq!(
        error("0-8:0"),
        "the stride in \"0-8:0\" is invalid: it must be at least 1, and a group no larger than its stride"
    );
    assert_eq!(
        error("0-99999999999999999999"),
        format!("cpu {} is above 65535, the largest supported number", u64::MAX)
    );
    assert_eq!(list("0-8191:2").len(), 4096);
    assert!(error("0-65535:2").starts_with("the strides make more than 4096 runs"));
    assert!(error(&["0-8191:2"; 3].join(",")).starts_with("the strides"));
    assert_eq!(error("1,,2"), "expected a cpu number or a range such as 0-3, found \"\" at character 3");
}

#[test]
fn masks_of_kernel_and_people_are_read() {
    let mask = |text: &str| CpuSet::parse_mask(text).unwrap();
    assert_eq!(mask("0x55"), list("0,2,4,6"));
    assert_eq!(mask("FFFF FFFF FFFF FFFC"), list("2-63"));
    assert_eq!(mask("1,00000000,00000003"), list("0,1,64"));
    assert_eq!(mask("1,3"), list("0,1,32"));
    assert!(CpuSet::parse_mask("0xg").is_err());
    let zeros = "0".repeat(MAXIMUM_CPU as usize / 4);
    assert_eq!(mask(&format!("00008{zeros}")), CpuSet::from_cpu(MAXIMUM_CPU));
    let too_large = CpuSetError::TooLarge { cpu: u64::from(MAXIMUM_CPU) + 2 };
    assert_eq!(CpuSet::parse_mask(&format!("1620{zeros}")), Err(too_large));
}

#[test]
fn hexadecimal_is_what_taskset_prints() {
    assert_eq!(list("2-63").to_hexadecimal(), "fffffffffffffffc");
    assert_eq!(list("64").to_hexadecimal(), "10000000000000000");
    assert_eq!(CpuSet::new().to_hexadecimal(), "0");
}

proptest! {
    #[test]
    fn printing_and_parsing_gives_the_same_set(cpus in proptest::collection::btree_set(0_u32..2000, 0..80)) {
        let set: CpuSet = cpus.iter().copied().collect();
        prop_assert_eq!(&CpuSet::parse_list(&set.to_string()).unwrap(), &set);
        prop_assert_eq!(&CpuSet::parse_mask(&set.to_hexadecimal()).unwrap(), &set);
        prop_assert_eq!(set.iter().collect::<Vec<_>>(), cpus.iter().copied().collect::<Vec<_>>());
        prop_assert_eq!(set.len(), cpus.len());
        prop_assert_eq!(set.highest(), cpus.last().copied());
    }

    #[test]
    fn cpus_come_and_go_one_by_one(changes in proptest::collection::vec((any::<bool>(), 0_u32..40), 0..200)) {
        let (mut set, mut expected) = (CpuSet::new(), std::collections::BTreeSet::new());
        for (comes, cpu) in changes {
            let (did, does) = if comes { (set.insert(cpu), expected.insert(cpu)) } else { (set.remove(cpu), expected.remove(&cpu)) };
            prop_assert_eq!((did, set.contains(cpu)), (does, comes));
            prop_assert_eq!(&set, &expected.iter().copied().collect());
            prop_assert_eq!(CpuSet::from_words(&set.to_words()), set.clone());
        }
    }

    #[test]
    fn set_laws_hold(a in proptest::collection::btree_set(0_u32..300, 0..40), b in proptest::collection::btree_set(0_u32..300, 0..40)) {
        let (x, y): (CpuSet, CpuSet) = (a.iter().copied().collect(), b.iter().copied().collect());
        prop_assert_eq!(x.difference(&y), a.difference(&b).copied().collect());
        prop_assert_eq!(x.union(&y), a.union(&b).copied().collect());
        prop_assert_eq!(x.intersection(&y), a.intersection(&b).copied().collect());
        prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
        prop_assert!(x.intersection(&y).is_subset(&y) && x.is_subset(&x.union(&y)));
    }
}
