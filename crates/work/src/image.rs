//! Functions of image analysis, each scored on its own: blur, gradient, median, opening, threshold, distances, labels, low-pass.

mod check;
mod distance;
mod fourier;
mod histogram;
mod labels;
mod picture;
mod plane;
mod planes;
mod stencil;
mod team;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corewise_model::metric_line::MetricLine;

use crate::settings::WorkloadHost;
use crate::{WorkError, WorkloadLimit, WorkloadReport, WorkloadSettings, WorkloadSize, crew};
use check::ImageSpectrum;
use picture::GreyPicture;
use planes::{ImagePlanes, TeamMember};
use team::ThreadTeam;

/// Rounds of the usual size.
const ROUNDS: f64 = 32.0;

type ImageFunction = fn(&TeamMember<'_>, &ImagePlanes) -> Result<(), WorkError>;

/// The functions in their order: distances and labels need the threshold.
const FUNCTIONS: [(&str, ImageFunction); 8] = [
    ("gaussian_blur", stencil::blur_band),
    ("sobel", stencil::sobel_band),
    ("median", stencil::median_band),
    ("opening", stencil::open),
    ("otsu", histogram::find_threshold),
    ("distance_transform", distance::transform_distances),
    ("labels", labels::label_pixels),
    ("low_pass", fourier::low_pass),
];

/// The workload's own options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageOptions {
    /// A PNG; `None` for an image drawn from the seed.
    pub input: Option<PathBuf>,
    /// Pixels of a row of the drawn image, up to 16384.
    pub width: usize,
    /// Rows of the drawn image, up to 16384; with the width at most 2 to the power of 24 pixels.
    pub height: usize,
}

impl Default for ImageOptions {
    /// Returns the defaults: a drawn image of some megapixels.
    fn default() -> Self {
        Self { input: None, width: 2048, height: 1536 }
    }
}

/// Applies eight functions of image analysis to a grey image, one after the other, and all of them again in each round.
///
/// - `gaussian_blur`: by a Gaussian with a standard deviation of 3 pixels, cut off at 9, along rows and then along columns.
/// - `sobel`: the magnitude of the gradient.
/// - `median`: of 3 times 3 pixels.
/// - `opening`: erosion and then dilation by a square of 7 times 7 pixels.
/// - `otsu`: the histogram, and the threshold that separates dark from bright.
/// - `distance_transform`: the squared Euclidean distance of each bright pixel to the nearest dark one, exact.
/// - `labels`: the connected sets of bright pixels, numbered by their first pixels.
/// - `low_pass`: in the frequency domain, by a Fourier transform of rows and columns and its inverse.
///
/// Each thread has a band of rows, and of columns if a second pass goes along them; it touches their memory first. The threads ("image 0",
/// ...) meet between passes and around each function; its time is measured from one meeting to the other. A rate is the pixels of all
/// rounds divided by the time of all rounds, and the first metric is the geometric mean of the eight. About 60 bytes of memory are needed
/// for each pixel.
///
/// The limit is memory. Each pass reads and writes planes that are larger than a core's caches, and neighbours read each other's outermost
/// rows. In a transposition each thread reads from all others. Arithmetic limits blur, median and low-pass while few threads share a node's
/// memory. So threads spread over caches and nodes with memory of their own are fast; threads crowded on one are not.
///
/// The usual size is 32 rounds with 3 megapixels. Some or all pixels of the last round are checked against: a convolution in two
/// dimensions, the formula of the gradient, sorting, the least and greatest of squares, a count and a search of all thresholds, a search of
/// the nearest dark pixel, a flood fill, and for the low-pass a convolution with a Gaussian, Parseval's theorem and the inverse transform.
///
/// # Errors
/// As every workload; a file that is no PNG, and a size that is too large, are wrong inputs.
pub fn run(
    settings: &WorkloadSettings,
    options: &ImageOptions,
    company: &mut WorkloadHost<'_>,
) -> Result<WorkloadReport, WorkError> {
    check_size(settings.size)?;
    (company.progress)(if options.input.is_some() { "reading an image" } else { "drawing an image" });
    let picture = match &options.input {
        Some(path) => GreyPicture::read_png(path)?,
        None => GreyPicture::draw_discs(options.width, options.height, settings.seed)?,
    };
    company.check_stop()?;
    (company.progress)("analysing the image");
    let planes = ImagePlanes::new(picture.width, picture.height, settings.threads);
    let (rounds, spectrum) = analyse_picture(settings, &picture, &planes, company.stop)?;
    (company.progress)("checking the results");
    let checked = check::check_all(&picture, &planes, &spectrum, company)?;
    let checksum = match settings.size {
        WorkloadSize::Share(_) => Some(check::planes_checksum(&planes)),
        WorkloadSize::Time(_) => None,
    };
    Ok(WorkloadReport { metrics: metric_lines(&picture, &rounds), limit: WorkloadLimit::Memory, checked, checksum })
}

fn check_size(size: WorkloadSize) -> Result<(), WorkError> {
    match size {
        WorkloadSize::Share(share) if !(share.is_finite() && share > 0.0 && share <= 1e6) => Err(WorkError::Input {
            what: "size".into(),
            why: format!("more than 0 and at most a million, not {share}"),
        }),
        _ => Ok(()),
    }
}

/// Time of each function in all rounds, and the number of rounds.
#[derive(Debug, Default)]
struct FunctionTimes {
    times: [Duration; FUNCTIONS.len()],
    count: u64,
}

fn metric_lines(picture: &GreyPicture, rounds: &FunctionTimes) -> Vec<MetricLine> {
    let pixels = picture.pixels.len() as f64 * rounds.count as f64;
    let rates = rounds.times.map(|time| pixels / time.as_secs_f64().max(1e-9));
    let mean = (rates.iter().map(|rate| rate.ln()).sum::<f64>() / rates.len() as f64).exp();
    let each = FUNCTIONS.iter().zip(rates);
    let each = each.map(|((name, _), rate)| MetricLine::new(format!("{name}_pixels_per_second"), rate));
    std::iter::once(MetricLine::new("pixels_per_second", mean)).chain(each).collect()
}

/// Runs all rounds, then transforms the image into its spectrum and back once more.
fn analyse_picture(
    settings: &WorkloadSettings,
    picture: &GreyPicture,
    planes: &ImagePlanes,
    stop: &AtomicBool,
) -> Result<(FunctionTimes, ImageSpectrum), WorkError> {
    let (team, spectrum) = (ThreadTeam::new(settings.threads, stop), ImageSpectrum::default());
    let again = AtomicBool::new(true);
    let work = |band: usize| {
        let member = TeamMember::new(band, &team);
        planes.allocate_band(band, picture);
        let rounds = run_rounds(&member, planes, settings.size, &again)?;
        spectrum.find_squares(&member, planes)?;
        Ok(rounds)
    };
    let found = crew::run_together(settings, |thread| format!("image {thread}"), || team.break_team(), work)?;
    Ok((found.into_iter().next().unwrap_or_default(), spectrum))
}

/// Runs rounds until the first thread decides that it is enough. Its times hold for all threads, since all meet.
fn run_rounds(
    member: &TeamMember<'_>,
    planes: &ImagePlanes,
    size: WorkloadSize,
    again: &AtomicBool,
) -> Result<FunctionTimes, WorkError> {
    let mut rounds = FunctionTimes::default();
    member.meet_others()?;
    let begin = Instant::now();
    while again.load(Ordering::Relaxed) {
        for (time, (_, function)) in rounds.times.iter_mut().zip(FUNCTIONS) {
            member.meet_others()?;
            let begin = Instant::now();
            function(member, planes)?;
            member.meet_others()?;
            *time += begin.elapsed();
        }
        rounds.count += 1;
        if member.band == 0 {
            again.store(needs_more_rounds(size, &rounds, begin.elapsed()), Ordering::Relaxed);
        }
        member.meet_others()?;
    }
    Ok(rounds)
}

fn needs_more_rounds(size: WorkloadSize, rounds: &FunctionTimes, elapsed: Duration) -> bool {
    match size {
        WorkloadSize::Share(share) => (rounds.count as f64) < (share * ROUNDS).round(),
        WorkloadSize::Time(time) => elapsed < time,
    }
}
