use corewise_model::links::{Matrix, groups};
fn load(path: &std::path::Path) -> Option<Matrix> {
    let text = std::fs::read_to_string(path).ok()?;
    if path.extension()? == "mct" {
        let n: usize = text.lines().next()?.split_whitespace().nth(2)?.parse().ok()?;
        let mut m = Matrix::unknown(0..n as u32);
        for l in text.lines().skip(1) {
            if l.starts_with('#') || m.known().count() >= n * (n - 1) / 2 {
                break;
            }
            let w: Vec<f64> = l.split_whitespace().filter_map(|x| x.parse().ok()).collect();
            if w.len() == 3 && w[0] != w[1] {
                m.set(w[0] as usize, w[1] as usize, w[2]);
            }
        }
        return Some(m);
    }
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
    Some(m)
}
fn main() {
    for dir in ["kcores", "soilros", "mctop"] {
        let mut files: Vec<_> =
            std::fs::read_dir(format!("/work/shared/data/links/{dir}")).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        for f in files {
            let Some(m) = load(&f) else { continue };
            let t = std::time::Instant::now();
            let u = groups::Unnamed::of(&m, None);
            println!("{:60.60} {} cpus {:?}", f.file_name().unwrap().to_string_lossy(), m.len(), t.elapsed());
            for (name, l) in u.siblings.iter().map(|l| ("siblings", l)).chain(u.levels.iter().map(|l| ("level", l))) {
                println!(
                    "    {name}: {} inside {:.1} between {:.1} step {:.2} misplaced {:.3}  {}",
                    l.words("cpu"),
                    l.inside_ns,
                    l.between_ns,
                    l.step,
                    l.misplaced,
                    l.groups.iter().take(4).map(|g| g.to_string()).collect::<Vec<_>>().join(" | ")
                );
            }
        }
    }
}
