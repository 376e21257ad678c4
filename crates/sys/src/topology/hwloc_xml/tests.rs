//! Tests of reading exports: what objects pass on, distances, kinds, memory, and hostile text.

use super::*;
use proptest::prelude::*;

const SMALL: &str = r#"<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="3.0">
  <object type="Machine" allowed_cpuset="0x00000003" complete_cpuset="0x0000000f">
    <object type="Package" os_index="7"><info name="CPUModel" value="A  b "/>
      <object type="L3Cache" cpuset="0xf" cache_size="1024" depth="3" cache_type="0">
        <object type="NUMANode" os_index="4" cpuset="0x3" local_memory="5"/>
        <object type="Group" subtype="Cluster" cpuset="0x3">
          <object type="Core" os_index="9" cpuset="0x3"><object type="PU" os_index="0"/><object type="PU" os_index="1"/></object>
        </object>
        <object type="NUMANode" os_index="2" cpuset="0xc"/>
        <object type="Core" os_index="10" cpuset="0x4"><object type="PU" os_index="2"/></object>
      </object></object></object>
  <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
    <indexes length="4">4 2 </indexes><u64values length="9">10 21 22 10 </u64values></distances2>
  <cpukind cpuset="0x3"><info name="LinuxCapacity" value="1024"/></cpukind>
</topology>"#;

#[test]
fn objects_pass_on_what_they_are_to_the_cpus_inside() {
    let found = read_facts(SMALL).unwrap();
    let cpu = &found.cpus[1];
    assert_eq!((cpu.number, cpu.package, cpu.core, cpu.capacity), (1, Some(7), Some(9), Some(1024)));
    assert_eq!(cpu.thread_siblings, Some(CpuSet::first_cpus(2)));
    assert_eq!(cpu.cluster_cpus, Some(CpuSet::first_cpus(2)));
    assert_eq!(cpu.caches[0].size_bytes, Some(1024));
    assert_eq!(found.cpus[2].cluster_cpus, None);
    assert_eq!(found.allowed, Some(CpuSet::first_cpus(2)));
    assert_eq!(found.processor.model_name.as_deref(), Some("A b"));
    let nodes: Vec<_> =
        found.nodes.iter().map(|node| (node.number, node.memory_bytes, node.distances.clone())).collect();
    assert_eq!(nodes, [(2, Some(0), vec![10, 22]), (4, Some(5), vec![21, 10])]);
}

#[test]
fn distances_without_a_name_count_if_they_are_latencies_of_the_system() {
    let distances = |kind: &str| {
        let text = SMALL.replace(" kind=\"5\" name=\"NUMALatency\"", &format!(" kind=\"{kind}\""));
        read_facts(&text).unwrap().nodes[0].distances.clone()
    };
    assert_eq!((distances("5"), distances("9"), distances("6")), (vec![10, 22], vec![], vec![]));
}

#[test]
fn a_node_outside_the_cpuset_is_not_one_without_cpus() {
    let text = SMALL.replace("os_index=\"2\" cpuset=\"0xc\"", "os_index=\"2\" cpuset=\"0x0\" complete_cpuset=\"0xf0\"");
    let text =
        text.replace("complete_cpuset=\"0x0000000f\"", "complete_cpuset=\"0x000000ff\" allowed_nodeset=\"0x10\"");
    let machine = corewise_machine::assemble::assemble_machine(read_facts(&text).unwrap());
    let why = "the export leaves out cpus that are not allowed: node 2 has the cpus 4-7";
    assert!(machine.gaps.iter().any(|gap| gap.why == why), "{:?}", machine.gaps);
    assert_eq!(machine.allowed_memory, Some(CpuSet::from_cpu(4)), "its memory is not allowed either");
}

#[test]
fn favoured_cores_are_no_kind_and_cpus_of_no_class_are_a_gap() {
    let kind = |mask: &str, class: &str| {
        format!("<cpukind cpuset=\"{mask}\"><info name=\"CoreType\" value=\"{class}\"/></cpukind>")
    };
    let with = |kinds: &[String]| {
        let text = SMALL.replace("</topology>", &format!("{}</topology>", kinds.concat()));
        corewise_machine::assemble::assemble_machine(read_facts(&text).unwrap())
    };
    let favoured = with(&[kind("0x1", "IntelCore"), kind("0x2", "IntelCore"), kind("0x4", "IntelAtom")]);
    assert_eq!(favoured.kinds.iter().map(|kind| kind.cpus.to_string()).collect::<Vec<_>>(), ["0,1", "2"]);
    let partial = with(&[kind("0x1", "IntelCore"), kind("0x4", "IntelAtom")]);
    assert!(partial.gaps.iter().any(|gap| gap.why == "the export names no class for cpus 1"), "{:?}", partial.gaps);
}

#[test]
fn groups_of_a_mask_have_their_own_prefix() {
    let found = read_facts(&SMALL.replace("\"0xf\"", "\"0x00000001,,0xff\"")).unwrap();
    assert_eq!(found.cpus[0].caches[0].shared_with.to_string(), "0-7,64");
}

#[test]
fn cpus_that_an_export_leaves_out_are_offline_or_not_allowed() {
    let whole = corewise_machine::assemble::assemble_machine(read_facts(SMALL).unwrap());
    assert_eq!((whole.offline_cpus().to_string(), whole.unlisted.to_string()), ("3".into(), String::new()));
    let allowed_only = SMALL.replace("allowed_cpuset=\"0x00000003\"", "allowed_cpuset=\"0x00000007\"");
    let confined = corewise_machine::assemble::assemble_machine(read_facts(&allowed_only).unwrap());
    assert_eq!((confined.offline_cpus().to_string(), confined.unlisted.to_string()), (String::new(), "3".into()));
}

#[test]
fn special_memory_and_unknown_arm_parts_are_named() {
    let text = SMALL.replace("os_index=\"2\" cpuset=\"0xc\"", "os_index=\"6\" subtype=\"HBM\" cpuset=\"0x3\"").replace(
        "<info name=\"CPUModel\" value=\"A  b \"/>",
        "<info name=\"CPUImplementer\" value=\"0x99\"/><info name=\"CPUPart\" value=\"0xabc\"/>",
    );
    let found = read_facts(&text).unwrap();
    assert_eq!(found.processor.model_name.as_deref(), Some("implementer 0x99 part 0xabc"));
    let node = &found.nodes[1];
    assert_eq!(
        (node.number, node.memory_kind, node.initiators.to_string()),
        (6, Some(MemoryKind::HighBandwidth), "4".into())
    );
}

/// Memory on the same cpus as another node, without a name, and what attributes say of both.
#[test]
fn memory_without_a_name_is_named_by_its_attributes() {
    let with = |bandwidth: u32| {
        let attribute = |name: &str, second: u32| {
            let value = |index: u32, value: u32| {
                format!(
                    "<memattr_value target_obj_type=\"NUMANode\" target_obj_gp_index=\"{index}\" value=\"{value}\" \
                     initiator_cpuset=\"0x3\"/>"
                )
            };
            format!("<memattr name=\"{name}\" flags=\"5\">{}{}</memattr>", value(71, 90_000), value(72, second))
        };
        SMALL
            .replace("type=\"NUMANode\" os_index=\"4\"", "type=\"NUMANode\" gp_index=\"71\" os_index=\"4\"")
            .replace("os_index=\"2\" cpuset=\"0xc\"", "gp_index=\"72\" os_index=\"6\" cpuset=\"0x3\"")
            .replace(
                "</topology>",
                &format!("{}{}</topology>", attribute("Latency", 900_000), attribute("Bandwidth", bandwidth)),
            )
    };
    let kinds = |text: &str| read_facts(text).unwrap().nodes.iter().map(|node| node.memory_kind).collect::<Vec<_>>();
    assert_eq!(kinds(&with(350_000)), [None, Some(MemoryKind::HighBandwidth)]);
    assert_eq!(kinds(&with(140_000)), [None, None]);
}

#[test]
fn deep_nesting_is_refused_or_cut() {
    let deep = format!("<topology version=\"3.0\">{}", "<object type=\"Machine\">".repeat(200_000));
    assert!(read_facts(&deep).is_err());
    let closed = format!("{deep}{}</topology>", "</object>".repeat(200_000));
    assert!(read_facts(&closed).is_ok_and(|facts| facts.cpus.is_empty()) || read_facts(&closed).is_err());
}

#[test]
fn other_xml_is_refused() {
    let why = |text: &str| read_facts(text).unwrap_err().to_string();
    assert!(why("<topology version=\"1.0\"/>").ends_with("it is not an hwloc topology of format 2 or 3"));
    assert!(why("<html/>").ends_with("it is not an hwloc topology of format 2 or 3"));
    assert!(why("<").starts_with("hwloc.xml is damaged: "));
}

proptest! {
    #[test]
    fn no_text_panics(text in "<topology version=\"3.0\">(<object (type|os_index|cpuset)=\"(PU|Core|NUMANode|0xf*|-?[0-9]{0,12})\"/?>){0,5}(</object>){0,3}.{0,20}") {
        let _ = read_facts(&text);
    }

    #[test]
    fn a_changed_byte_never_panics(at in 0_usize..SMALL.len(), value in 32_u8..127) {
        let mut bytes = SMALL.as_bytes().to_vec();
        bytes[at] = value;
        let _ = read_facts(std::str::from_utf8(&bytes).unwrap());
    }
}
