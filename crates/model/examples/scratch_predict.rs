use corewise_model::links::{Matrix, predict::Predictor, structure::Structure};
use corewise_model::stats::{
    order::{median, quantile},
    random::Random,
};
use corewise_model::{CpuSet, Machine};
use std::collections::BTreeMap;
fn load(path: &str) -> Matrix {
    let text = std::fs::read_to_string(format!("/work/shared/data/links/{path}")).unwrap();
    let rows: Vec<Vec<f64>> =
        text.lines().map(|l| l.trim_end().split(',').map(|c| c.trim().parse().unwrap_or(f64::NAN)).collect()).collect();
    let n = rows.len();
    let mut m = Matrix::unknown(0..n as u32);
    for (i, r) in rows.iter().enumerate() {
        for (j, &c) in r.iter().enumerate().take(n) {
            if i != j && c > 0.0 {
                m.set(i, j, c);
            }
        }
    }
    m
}
use corewise_model::simulate::layout::Layout;
fn main() {
    for (f, packages, caches, cores, threads) in [
        ("kcores/dual-amd-epyc-9754-128-core-processor-by-fwyzard.csv", 2, 16, 8, 2),
        ("kcores/dual-amd-epyc-7742-64-core-processor-by-nviennot.csv", 2, 16, 4, 2),
        ("kcores/dual-amd-epyc-9454-48-core-processor-by-fwyzard.csv", 2, 8, 6, 2),
        ("kcores/amd-epyc-7r13-48-core-processor-from-aws-c6a-metal-by-nviennot.csv", 2, 6, 8, 2),
        ("kcores/amd-epyc-9754-128-core-processor-by-entropy-enthalpy.csv", 1, 16, 8, 1),
        ("soilros/amd-epyc-7713.csv", 2, 8, 8, 1),
        ("kcores/dual-ampere-altra-processor-q80-30-cpu-3-0ghz-by-zeroping.csv", 1, 1, 80, 1),
        ("kcores/aws-graviton2-from-aws-c6gd-metal-by-nviennot.csv", 1, 1, 64, 1),
    ] {
        let m = load(f);
        let mach = Layout { packages, caches, cores, threads, adjacent: false }.machine();
        let s = Structure::new(Some(&mach), &m.cpu_set());
        for k in [1, 2, 3, 6] {
            let (mut med, mut p95, mut count) = (vec![], vec![], 0);
            for seed in 0..3 {
                let mut r = Random::new(seed);
                let mut blocks = BTreeMap::<_, Vec<(usize, usize)>>::new();
                for i in 0..m.len() {
                    for j in i + 1..m.len() {
                        blocks.entry(s.block(i, j)).or_default().push((i, j));
                    }
                }
                let mut seen = vec![];
                for (b, v) in &mut blocks {
                    r.shuffle(v);
                    let n = if b.relation == corewise_model::links::Relation::SameCore { 1 } else { k };
                    for &(i, j) in v.iter().take(n) {
                        seen.push((i, j, m.cost(i, j)));
                    }
                }
                count = seen.len();
                let p = Predictor::fit(&s, &seen);
                let set: std::collections::BTreeSet<_> = seen.iter().map(|&(i, j, _)| (i, j)).collect();
                let err: Vec<f64> = m
                    .known()
                    .filter(|(i, j, _)| !set.contains(&(*i, *j)))
                    .map(|(i, j, c)| (p.cost(i, j) / c - 1.0).abs() * 100.0)
                    .collect();
                med.push(median(&err));
                p95.push(quantile(&err, 0.95));
            }
            println!("{:40.40} k={k} pairs {count} median {:.2} p95 {:.2}", f, median(&med), median(&p95));
        }
    }
}
