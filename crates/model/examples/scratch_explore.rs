use corewise_model::links::{Matrix, explore::*, predict::Predictor, structure::Structure};
use corewise_model::simulate::layout::Layout;
use corewise_model::stats::order::{median, quantile};
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
fn main() {
    for (f, packages, caches, cores, threads, adjacent) in [
        ("kcores/dual-amd-epyc-9754-128-core-processor-by-fwyzard.csv", 2, 16, 8, 2, false),
        ("kcores/dual-amd-epyc-9754-128-core-processor-by-fwyzard.csv", 1, 1, 512, 1, false),
        ("kcores/dual-amd-epyc-7742-64-core-processor-by-nviennot.csv", 2, 16, 4, 2, false),
        ("kcores/dual-amd-epyc-7742-64-core-processor-by-nviennot.csv", 1, 1, 256, 1, false),
        ("kcores/dual-amd-epyc-9454-48-core-processor-by-fwyzard.csv", 2, 8, 6, 2, false),
        ("kcores/amd-epyc-7r13-48-core-processor-from-aws-c6a-metal-by-nviennot.csv", 2, 6, 8, 2, false),
        ("kcores/amd-epyc-9754-128-core-processor-by-entropy-enthalpy.csv", 1, 16, 8, 1, false),
        ("soilros/amd-epyc-7713.csv", 2, 8, 8, 1, false),
        ("kcores/dual-ampere-altra-processor-q80-30-cpu-3-0ghz-by-zeroping.csv", 1, 1, 80, 1, false),
        ("kcores/aws-graviton2-from-aws-c6gd-metal-by-nviennot.csv", 1, 1, 64, 1, false),
        ("kcores/dual-intel-xeon-platinum-8360y-2-40ghz-by-herver.csv", 1, 1, 128, 1, false),
        ("kcores/dual-ibm-power9-8335-gth-16-core-2-7ghz-by-herver.csv", 2, 8, 2, 4, true),
        ("soilros/intel-xeon-e5-2698-v3.csv", 2, 1, 16, 2, true),
        (
            "kcores/amd-ryzen-threadripper-3960x-3-80ghz-24-cores-zen-2-3rd-gen-2019-q4-by-toolsdevler.csv",
            1,
            8,
            3,
            2,
            false,
        ),
        ("kcores/amd-ryzen-9-5950x-3-40ghz-by-nephyrin.csv", 1, 2, 8, 2, false),
        ("kcores/amd-ryzen-9-9950x-16-core-processor-by-ubergarm.csv", 1, 2, 8, 2, false),
        ("kcores/amd-ryzen-9-7950x-by-zamadatix.csv", 1, 2, 8, 2, true),
        ("kcores/amd-ryzen-threadripper-1950x-by-farnoy.csv", 1, 4, 4, 2, false),
        ("kcores/quad-intel-xeon-e5-4650v2-2-4ghz-by-alloybronya.csv", 2, 1, 10, 2, true),
        ("kcores/intel-xeon-phi-7210-1-30ghz-by-shisoft.csv", 1, 32, 2, 1, false),
    ] {
        let m = load(f);
        let mach = Layout { packages, caches, cores, threads, adjacent }.machine();
        let s = Structure::new(Some(&mach), &m.cpu_set());
        for seed in 0..3 {
            let mut e = Explorer::new(s.clone(), Limits::default(), seed);
            let mut seen = Matrix::unknown(0..m.len() as u32);
            let (mut fit, mut out, mut batches) = (vec![], vec![], vec![]);
            while let Some(b) = e.next(&seen) {
                batches.push(b.len());
                for w in b {
                    let c = m.cost(w.i, w.j);
                    if c.is_nan() {
                        continue;
                    }
                    seen.set_both(w.i, w.j, c);
                    if w.held_out { out.push((w.i, w.j, c)) } else { fit.push((w.i, w.j, c)) }
                }
            }
            let st = e.structure();
            let p = Predictor::fit(st, &fit);
            let err = |v: &mut dyn Iterator<Item = (usize, usize, f64)>| {
                let e: Vec<f64> = v.map(|(i, j, c)| (p.cost(i, j) / c - 1.0).abs() * 100.0).collect();
                (median(&e), quantile(&e, 0.95))
            };
            let mut fm = Matrix::unknown(0..m.len() as u32);
            for &(i, j, c) in &fit {
                fm.set_both(i, j, c);
            }
            let t = err(&mut m.known().filter(|&(i, j, _)| fm.cost(i, j).is_nan()));
            let h = err(&mut out.iter().copied());
            println!(
                "{:45.45} {:4} groups {:3} pairs {:5} {:?} true {:.2}/{:.2} held out {:.2}/{:.2}  ratio {:.2} {:.2} {}",
                &f[7..],
                m.len(),
                st.caches(),
                fit.len() + out.len(),
                batches,
                t.0,
                t.1,
                h.0,
                h.1,
                h.0 / t.0,
                h.1 / t.1,
                if [h.0 / t.0, h.1 / t.1].iter().any(|r| !(0.5..=2.0).contains(r)) { "<<<" } else { "" }
            );
        }
    }
}
