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

use crate::settings::Company;
use crate::{Error, Limit, Report, Settings, Size, crew};
use check::Spectrum;
use picture::Picture;
use planes::{Member, Planes};
use team::Team;

/// Rounds of the usual size.
const ROUNDS: f64 = 32.0;

type Function = fn(&Member<'_>, &Planes) -> Result<(), Error>;

/// The functions in their order: distances and labels need the threshold.
const FUNCTIONS: [(&str, Function); 8] = [
    ("gaussian_blur", stencil::blur),
    ("sobel", stencil::sobel),
    ("median", stencil::median),
    ("opening", stencil::open),
    ("otsu", histogram::otsu),
    ("distance_transform", distance::transform),
    ("labels", labels::label),
    ("low_pass", fourier::low_pass),
];

/// The workload's own options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// A PNG; `None` for an image drawn from the seed.
    pub input: Option<PathBuf>,
    /// Pixels of a row of the drawn image, up to 16384.
    pub width: usize,
    /// Rows of the drawn image, up to 16384; with the width at most 2 to the power of 24 pixels.
    pub height: usize,
}

impl Default for Options {
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
pub fn run(settings: &Settings, options: &Options, company: &mut Company<'_>) -> Result<Report, Error> {
    check_size(settings.size)?;
    (company.progress)(if options.input.is_some() { "reading an image" } else { "drawing an image" });
    let picture = match &options.input {
        Some(path) => Picture::read(path)?,
        None => Picture::draw(options.width, options.height, settings.seed)?,
    };
    company.go_on()?;
    (company.progress)("analysing the image");
    let planes = Planes::new(picture.width, picture.height, settings.threads);
    let (rounds, spectrum) = analyse(settings, &picture, &planes, company.stop)?;
    (company.progress)("checking the results");
    let checked = check::all(&picture, &planes, &spectrum, company)?;
    let checksum = match settings.size {
        Size::Share(_) => Some(check::checksum(&planes)),
        Size::Time(_) => None,
    };
    Ok(Report { metrics: metrics(&picture, &rounds), limit: Limit::Memory, checked, checksum })
}

fn check_size(size: Size) -> Result<(), Error> {
    match size {
        Size::Share(share) if !(share.is_finite() && share > 0.0 && share <= 1e6) => {
            Err(Error::Input { what: "size".into(), why: format!("more than 0 and at most a million, not {share}") })
        }
        _ => Ok(()),
    }
}

/// Time of each function in all rounds, and the number of rounds.
#[derive(Debug, Default)]
struct Rounds {
    times: [Duration; FUNCTIONS.len()],
    count: u64,
}

fn metrics(picture: &Picture, rounds: &Rounds) -> Vec<MetricLine> {
    let pixels = picture.pixels.len() as f64 * rounds.count as f64;
    let rates = rounds.times.map(|time| pixels / time.as_secs_f64().max(1e-9));
    let mean = (rates.iter().map(|rate| rate.ln()).sum::<f64>() / rates.len() as f64).exp();
    let each = FUNCTIONS.iter().zip(rates);
    let each = each.map(|((name, _), rate)| MetricLine::new(format!("{name}_pixels_per_second"), rate));
    std::iter::once(MetricLine::new("pixels_per_second", mean)).chain(each).collect()
}

/// Runs all rounds, then transforms the image into its spectrum and back once more.
fn analyse(
    settings: &Settings,
    picture: &Picture,
    planes: &Planes,
    stop: &AtomicBool,
) -> Result<(Rounds, Spectrum), Error> {
    let (team, spectrum) = (Team::new(settings.threads, stop), Spectrum::default());
    let again = AtomicBool::new(true);
    let work = |band: usize| {
        let member = Member::new(band, &team);
        planes.allocate(band, picture);
        let rounds = rounds(&member, planes, settings.size, &again)?;
        spectrum.find(&member, planes)?;
        Ok(rounds)
    };
    let found = crew::together(settings, |thread| format!("image {thread}"), || team.break_up(), work)?;
    Ok((found.into_iter().next().unwrap_or_default(), spectrum))
}

/// Runs rounds until the first thread decides that it is enough. Its times hold for all threads, since all meet.
fn rounds(member: &Member<'_>, planes: &Planes, size: Size, again: &AtomicBool) -> Result<Rounds, Error> {
    let mut rounds = Rounds::default();
    member.meet()?;
    let begin = Instant::now();
    while again.load(Ordering::Relaxed) {
        for (time, (_, function)) in rounds.times.iter_mut().zip(FUNCTIONS) {
            member.meet()?;
            let begin = Instant::now();
            function(member, planes)?;
            member.meet()?;
            *time += begin.elapsed();
        }
        rounds.count += 1;
        if member.band == 0 {
            again.store(goes_on(size, &rounds, begin.elapsed()), Ordering::Relaxed);
        }
        member.meet()?;
    }
    Ok(rounds)
}

fn goes_on(size: Size, rounds: &Rounds, elapsed: Duration) -> bool {
    match size {
        Size::Share(share) => (rounds.count as f64) < (share * ROUNDS).round(),
        Size::Time(time) => elapsed < time,
    }
}
