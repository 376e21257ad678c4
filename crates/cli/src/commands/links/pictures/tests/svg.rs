//! That pictures are XML, small, and tell what they show.

use corewise_machine::random::RandomGenerator;
use corewise_model::links::CostMatrix;
use corewise_testing::find_test_data;

use super::{any, matrix, six};
use crate::commands::links::pictures::MatrixLayout;
use crate::draw::heat::SvgText;

#[test]
fn every_picture_is_xml_and_small() {
    let mut random = RandomGenerator::new(11);
    let text = SvgText { title: "a <b> & \"c\"\u{1b}\u{ffff}".into(), source: "x ".repeat(300), ..SvgText::default() };
    for _ in 0..30 {
        let (matrix, layout) = any(&mut random);
        let picture = layout.heat_map(&matrix).to_svg(&text);
        assert!(picture.len() < 1_500_000, "{} bytes for {} cpus", picture.len(), matrix.len());
        let document = roxmltree::Document::parse(&picture).unwrap();
        let title = document.root_element().children().find(|node| node.has_tag_name("title")).unwrap();
        assert_eq!(title.text(), Some(r#"a <b> & "c"\u{1b}\u{ffff}"#));
    }
}

#[test]
fn a_small_picture_tells_every_cost() {
    let (matrix, layout) = six();
    let picture = layout.heat_map(&matrix).to_svg(&SvgText::default());
    let document = roxmltree::Document::parse(&picture).unwrap();
    let texts = |tag| document.descendants().filter(move |node| node.has_tag_name(tag)).filter_map(|node| node.text());
    let costs: Vec<&str> = texts("title").filter(|text| text.contains(" to ")).collect();
    assert_eq!((costs.len(), costs[0], costs[27]), (28, "cpu 0 to cpu 2: 7.0 ns", "cpu 5 to cpu 3: 10.0 ns"));
    let words: Vec<&str> = texts("text").collect();
    assert!(["group:0", "group:1", "not measured", "ns", "cpu", "102"].iter().all(|word| words.contains(word)));
}

/// A recorded lower triangle without names.
fn read_recorded(file: &str) -> Result<CostMatrix, String> {
    let folder = find_test_data("links", "recorded links")?;
    let text = std::fs::read_to_string(folder.join(file)).map_err(|error| error.to_string())?;
    let costs = |line: &str| line.split(',').map_while(|cell| cell.trim().parse().ok()).collect();
    let rows: Vec<Vec<f64>> = text.lines().map(costs).collect();
    Ok(matrix(rows.len() as u32, |a, b| rows[a.max(b) as usize][a.min(b) as usize]))
}

#[test]
fn a_recorded_map_of_512_cpus_is_a_small_picture() {
    let matrix = match read_recorded("kcores/dual-amd-epyc-9754-128-core-processor-by-fwyzard.csv") {
        Ok(matrix) => matrix,
        Err(why) => return println!("skipped: {why}"),
    };
    let picture = MatrixLayout::from_numbers(&matrix).heat_map(&matrix).to_svg(&SvgText::default());
    assert!(roxmltree::Document::parse(&picture).is_ok());
    assert!((20_000..200_000).contains(&picture.len()), "{} bytes", picture.len());
}
