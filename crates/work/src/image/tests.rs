use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;

const SMALL: WorkloadSize = WorkloadSize::Share(0.03);

fn options(width: usize, height: usize) -> ImageOptions {
    ImageOptions { input: None, width, height }
}

fn run_with(threads: usize, size: WorkloadSize, options: &ImageOptions) -> Result<WorkloadReport, WorkError> {
    let stop = AtomicBool::new(false);
    run(
        &WorkloadSettings { size, ..WorkloadSettings::new(threads) },
        options,
        &mut WorkloadHost { stop: &stop, progress: &mut |_| () },
    )
}

/// One round with a picture.
fn analysed(picture: &GreyPicture, threads: usize) -> (ImagePlanes, ImageSpectrum) {
    let planes = ImagePlanes::new(picture.width, picture.height, threads);
    let settings = WorkloadSettings { size: SMALL, ..WorkloadSettings::new(threads) };
    let (rounds, spectrum) = analyse_picture(&settings, picture, &planes, &AtomicBool::new(false)).unwrap();
    assert_eq!(rounds.count, 1);
    (planes, spectrum)
}

#[test]
fn the_result_is_the_same_with_any_threads() {
    let most = |width, height| if width * height == 60 { 61 } else { 3 };
    for (width, height) in [(331, 200), (20, 3), (1, 40), (40, 1), (1, 1), (2, 2), (3, 100)] {
        let alone = run_with(1, SMALL, &options(width, height)).unwrap().checksum;
        for threads in [2, 5, most(width, height)] {
            let report = run_with(threads, SMALL, &options(width, height)).unwrap();
            assert_eq!(report.checksum, alone, "{width} x {height}, {threads} threads");
        }
        assert!(alone.is_some());
    }
}

#[test]
fn each_function_has_a_rate_and_their_geometric_mean_is_first() {
    let report = run_with(2, WorkloadSize::Time(Duration::from_millis(5)), &options(50, 50)).unwrap();
    assert_eq!((report.metrics.len(), report.checksum), (9, None));
    assert!(report.metrics.iter().all(|metric| metric.name.ends_with("pixels_per_second") && metric.value > 0.0));
    let product: f64 = report.metrics[1..].iter().map(|metric| metric.value.ln()).sum();
    assert!((report.metrics[0].value.ln() * 8.0 / product - 1.0).abs() < 1e-9);
    assert_eq!(report.metrics[0].name, "pixels_per_second");
}

#[test]
fn the_blur_of_an_impulse_is_the_kernel() {
    let mut picture = GreyPicture { width: 40, height: 31, pixels: vec![0; 40 * 31] };
    picture.pixels[15 * 40 + 20] = 200;
    let (planes, _) = analysed(&picture, 3);
    let (blurred, kernel) = (planes.blurred.copy_values(), stencil::blur_kernel());
    for (number, &found) in blurred.iter().enumerate() {
        let weight = |place: usize, centre: usize| kernel.get((place + 9).wrapping_sub(centre)).copied().unwrap_or(0.0);
        let expected = 200.0 * weight(number % 40, 20) * weight(number / 40, 15);
        assert!((f64::from(found) - expected).abs() < 1e-5, "{number}: {found} {expected}");
    }
}

#[test]
fn pictures_without_contrast_have_no_bright_pixels_or_no_dark_ones() {
    for grey in [0, 7, 255] {
        let picture = GreyPicture { width: 20, height: 9, pixels: vec![grey; 180] };
        let (planes, spectrum) = analysed(&picture, 2);
        let stop = AtomicBool::new(false);
        let company = WorkloadHost { stop: &stop, progress: &mut |_| () };
        check::check_all(&picture, &planes, &spectrum, &company).unwrap();
        let (distance, label) = if grey == 0 { (0, 0) } else { (distance::NEVER, 1) };
        assert_eq!((planes.distances.copy_values()[5], planes.labels.copy_values()[5]), (distance, label));
    }
}

#[test]
fn each_check_finds_a_result_that_is_wrong() {
    let picture = GreyPicture::draw_discs(150, 90, 5).unwrap();
    let (planes, spectrum) = analysed(&picture, 2);
    let threshold = planes.threshold.load(Ordering::Relaxed);
    // Pixel 499 is looked at.
    fn spoil<T: Copy>(mut values: Vec<T>, change: impl Fn(T) -> T) -> Vec<T> {
        values[499] = change(values[499]);
        values
    }
    let float = |plane: &plane::BandedPlane<f32>, by: f32| spoil(plane.copy_values(), |value| value + by);
    #[track_caller]
    fn wrong(result: Result<(), WorkError>) {
        assert!(matches!(result, Err(WorkError::Wrong(_))), "{result:?}");
    }
    wrong(check::check_blur(&picture, &float(&planes.blurred, 0.002)));
    wrong(check::check_blur(&picture, &float(&planes.blurred, f32::NAN)));
    wrong(check::check_sobel(&picture, &float(&planes.edges, -0.01)));
    wrong(check::check_median(&picture, &spoil(planes.median.copy_values(), |value| value ^ 1)));
    wrong(check::open(&picture, &spoil(planes.opened.copy_values(), |value| value ^ 1)));
    wrong(check::check_distances(&picture, threshold, &spoil(planes.distances.copy_values(), |square| square + 1)));
    wrong(check::check_distances(&picture, threshold, &spoil(planes.distances.copy_values(), |_| distance::NEVER)));
    wrong(check::check_labels(&picture, threshold, &spoil(planes.labels.copy_values(), |label| label + 1)));
    wrong(check::low_pass(&picture, &float(&planes.filtered, 0.03)));
    wrong(spectrum.check_squares(&picture, &float(&planes.between, 0.03)));
    wrong(ImageSpectrum::default().check_squares(&picture, &planes.between.copy_values()));
    let mut counts = planes.sum_histogram();
    // Some brighter than the threshold are as good: no pixel is between the ground and the discs.
    wrong(check::check_histogram(&picture, &counts, threshold + 60));
    wrong(check::check_histogram(&picture, &counts, threshold - 20));
    counts.swap(50, 51);
    wrong(check::check_histogram(&picture, &counts, threshold));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn distances_and_labels_are_those_of_searching_and_filling(
        (width, pixels) in (1_usize..24, 1_usize..24).prop_flat_map(|(width, height)| {
            let pixel = prop_oneof![3 => Just(200_u8), 1 => Just(10_u8)];
            (Just(width), proptest::collection::vec(pixel, width * height))
        }),
        inverted in any::<bool>(),
        threads in 1_usize..7,
    ) {
        let pixels: Vec<u8> = pixels.into_iter().map(|pixel| if inverted { 210 - pixel } else { pixel }).collect();
        let picture = GreyPicture { width, height: pixels.len() / width, pixels };
        let (planes, _) = analysed(&picture, threads);
        let threshold = planes.threshold.load(Ordering::Relaxed);
        check::check_labels(&picture, threshold, &planes.labels.copy_values()).unwrap();
        let dark = |&(number, _): &(usize, &u8)| picture.pixels[number] <= threshold;
        for (number, &found) in planes.distances.copy_values().iter().enumerate() {
            let square = |(other, _): (usize, &u8)| {
                (number % width).abs_diff(other % width).pow(2) + (number / width).abs_diff(other / width).pow(2)
            };
            let nearest = picture.pixels.iter().enumerate().filter(dark).map(square).min();
            prop_assert_eq!(found, nearest.map_or(distance::NEVER, |nearest| nearest as u32));
        }
    }
}

/// A file with an image, that is deleted in the end.
fn file(bytes: &[u8]) -> (tempfile::NamedTempFile, ImageOptions) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let options = ImageOptions { input: Some(file.path().to_path_buf()), ..ImageOptions::default() };
    (file, options)
}

fn png(width: u32, height: u32, color: png::ColorType, depth: png::BitDepth, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if color == png::ColorType::Indexed {
        encoder.set_palette(vec![0, 0, 0, 100, 100, 100]);
    }
    encoder.write_header().unwrap().write_image_data(data).unwrap();
    bytes
}

#[test]
fn pictures_of_every_kind_become_grey() {
    use png::{BitDepth, ColorType};
    let grey = |width, height, color, depth, data: &[u8]| {
        let (_file, options) = file(&png(width, height, color, depth, data));
        GreyPicture::read_png(&options.input.unwrap()).unwrap().pixels
    };
    assert_eq!(grey(2, 1, ColorType::Grayscale, BitDepth::Eight, &[3, 250]), [3, 250]);
    assert_eq!(grey(1, 2, ColorType::Grayscale, BitDepth::Sixteen, &[3, 0, 250, 0]), [3, 250]);
    assert_eq!(grey(2, 1, ColorType::GrayscaleAlpha, BitDepth::Eight, &[3, 0, 250, 9]), [3, 250]);
    assert_eq!(grey(2, 1, ColorType::Rgb, BitDepth::Eight, &[255, 0, 0, 9, 9, 9]), [76, 9]);
    assert_eq!(grey(2, 1, ColorType::Rgba, BitDepth::Eight, &[0, 255, 0, 1, 255, 255, 255, 0]), [150, 255]);
    assert_eq!(grey(8, 1, ColorType::Indexed, BitDepth::One, &[0b0100_0001]), [0, 100, 0, 0, 0, 0, 0, 100]);
    let drawn = GreyPicture::draw_discs(70, 50, 1).unwrap();
    let (_file, options) = file(&png(70, 50, ColorType::Grayscale, BitDepth::Eight, &drawn.pixels));
    assert_eq!(
        run_with(2, SMALL, &options).unwrap().checksum,
        run_with(1, SMALL, &super::tests::options(70, 50)).unwrap().checksum
    );
}

#[test]
fn what_is_no_picture_or_too_large_is_told() {
    let why = |options: &ImageOptions| {
        let error = run_with(1, SMALL, options).unwrap_err();
        assert!(matches!(error, WorkError::Input { .. }), "{error}");
        error.to_string()
    };
    why(&file(b"no picture").1);
    let whole = png(30, 30, png::ColorType::Grayscale, png::BitDepth::Eight, &[5; 900]);
    (0..whole.len() - 16).step_by(7).for_each(|end| drop(why(&file(&whole[..end]).1)));
    assert!(
        why(&ImageOptions { input: Some("/nowhere/at all".into()), ..ImageOptions::default() })
            .starts_with("/nowhere/at all: ")
    );
    for (width, height) in [(0, 5), (5, 0), (1 << 15, 1), (1 << 13, 1 << 12), (usize::MAX, usize::MAX)] {
        assert!(why(&options(width, height)).starts_with("size of the image: "));
    }
    for share in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(run_with(1, WorkloadSize::Share(share), &options(9, 9)), Err(WorkError::Input { .. })));
    }
}

#[test]
fn it_ends_when_it_is_stopped_or_a_thread_cannot_be_pinned() {
    for threads in [1, 2, 5] {
        let stop = AtomicBool::new(false);
        let settings = WorkloadSettings { size: WorkloadSize::Share(1e5), ..WorkloadSettings::new(threads) };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(40));
                stop.store(true, Ordering::Relaxed);
            });
            let company = &mut WorkloadHost { stop: &stop, progress: &mut |_| () };
            assert!(matches!(run(&settings, &options(300, 300), company), Err(WorkError::Stopped)));
        });
    }
    let cpu = corewise_sys::affinity::current_affinity().unwrap().lowest().unwrap();
    let settings = WorkloadSettings { cpus: vec![cpu, cpu, 8000], ..WorkloadSettings::new(3) };
    let stop = AtomicBool::new(false);
    let error = run(&settings, &options(30, 30), &mut WorkloadHost { stop: &stop, progress: &mut |_| () }).unwrap_err();
    assert!(error.to_string().starts_with("pinning a thread to cpu 8000"), "{error}");
}
