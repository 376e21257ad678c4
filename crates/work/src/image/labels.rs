//! Connected sets of bright pixels.

use std::ops::{DerefMut, Range};
use std::sync::atomic::Ordering;

use super::plane::PlaneWindow;
use super::planes::{ImagePlanes, TeamMember};
use crate::WorkError;

/// Root of a dark pixel.
const NONE: u32 = u32::MAX;

/// Numbers the sets of bright pixels that touch by sides or corners, from 1 in the order of their first pixels; dark pixels have 0.
///
/// It uses union-find in two passes. Each thread finds the sets of its band; a root is always a set's first pixel. Then neighbouring bands
/// are joined along their seams, two by two, four by four and so on, different pairs by different threads. Last, roots are counted and each
/// pixel takes its root's number.
pub fn label_pixels(member: &TeamMember<'_>, planes: &ImagePlanes) -> Result<(), WorkError> {
    own_band(member, planes)?;
    let threads = member.thread_count();
    let mut step = 1;
    while step < threads {
        member.meet_others()?;
        if member.band.is_multiple_of(2 * step) && member.band + step < threads {
            join_bands(
                planes,
                member.band..member.band + step,
                member.band + step..(member.band + 2 * step).min(threads),
            );
        }
        step *= 2;
    }
    member.meet_others()?;
    count_roots(member, planes)?;
    member.meet_others()?;
    number_band(member, planes)
}

fn own_band(member: &TeamMember<'_>, planes: &ImagePlanes) -> Result<(), WorkError> {
    let (rows, width, bright) = (planes.source.band_rows(member.band), planes.source.width(), planes.darkest_bright());
    let source = planes.source.read_around(member.band, 0);
    let mut roots = planes.roots.write_band(member.band);
    let mut forest = PixelBand { first: (rows.start * width) as u32, roots: &mut roots };
    for y in rows.clone() {
        member.check_stop()?;
        let above = (y > rows.start).then(|| source.row_at(y - 1));
        link_row(source.row_at(y), above, bright, (y * width) as u32, &mut forest);
    }
    Ok(())
}

/// Union-find forest of pixels; the root of a set is its first pixel.
trait PixelForest {
    /// Returns a pixel's parent, which is the pixel itself for a root.
    fn parent_of(&mut self, pixel: u32) -> &mut u32;

    /// Returns the root of a bright pixel's set, and shortens the path.
    fn find_root(&mut self, mut pixel: u32) -> u32 {
        loop {
            let parent = *self.parent_of(pixel);
            if parent == pixel {
                return pixel;
            }
            let above = *self.parent_of(parent);
            *self.parent_of(pixel) = above;
            pixel = above;
        }
    }

    /// Joins the sets of two bright pixels.
    fn join_sets(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find_root(one), self.find_root(other));
        *self.parent_of(one.max(other)) = one.min(other);
    }
}

/// Pixels from `first` on.
struct PixelBand<'a> {
    first: u32,
    roots: &'a mut [u32],
}

impl PixelForest for PixelBand<'_> {
    #[inline(always)]
    fn parent_of(&mut self, pixel: u32) -> &mut u32 {
        &mut self.roots[(pixel - self.first) as usize]
    }
}

/// Pixels of several bands, each with its first pixel.
struct PixelBands<G> {
    bands: Vec<(u32, G)>,
}

impl<G: DerefMut<Target = Vec<u32>>> PixelForest for PixelBands<G> {
    fn parent_of(&mut self, pixel: u32) -> &mut u32 {
        let band = self.bands.partition_point(|(first, _)| *first <= pixel) - 1;
        let (first, roots) = &mut self.bands[band];
        &mut roots[(pixel - *first) as usize]
    }
}

/// Links each bright pixel of a row to those on its left and above it. `first` is the row's first pixel.
fn link_row(row: &[u8], above: Option<&[u8]>, bright: u16, first: u32, forest: &mut PixelBand<'_>) {
    let is_bright = |row: &[u8], x: usize| row.get(x).is_some_and(|&pixel| u16::from(pixel) >= bright);
    let width = row.len() as u32;
    for (x, pixel) in (0..row.len()).zip(first..) {
        if !is_bright(row, x) {
            *forest.parent_of(pixel) = NONE;
            continue;
        }
        let is_left = x > 0 && is_bright(row, x - 1);
        *forest.parent_of(pixel) = if is_left { forest.find_root(pixel - 1) } else { pixel };
        let Some(above) = above else { continue };
        // The middle pixel above connects its neighbours; the left one's set is joined already if there is a bright pixel on the left.
        if is_bright(above, x) {
            if !is_left {
                forest.join_sets(pixel, pixel - width);
            }
        } else if x > 0 && !is_left && is_bright(above, x - 1) {
            forest.join_sets(pixel, pixel - width - 1);
        }
        if is_bright(above, x + 1) && !is_bright(above, x) {
            forest.join_sets(pixel, pixel - width + 1);
        }
    }
}

/// Joins the sets of two groups of bands along the seam between them.
fn join_bands(planes: &ImagePlanes, upper: Range<usize>, lower: Range<usize>) {
    let (width, bright) = (planes.source.width(), planes.darkest_bright());
    let (first, seam) = (planes.source.band_rows(upper.start).start, planes.source.band_rows(lower.start).start);
    let last = planes.source.band_rows(lower.end - 1).end;
    if first == seam || seam == last {
        return;
    }
    let lock = |band: usize| ((planes.source.band_rows(band).start * width) as u32, planes.roots.write_band(band));
    let bands = (upper.start..lower.end).filter(|band| !planes.source.band_rows(*band).is_empty()).map(lock).collect();
    let mut forest = PixelBands { bands };
    let source = planes.source.read_rows(seam - 1..seam + 1);
    let (above, below) = (source.row_at(seam - 1), source.row_at(seam));
    for x in (0..width).filter(|&x| u16::from(below[x]) >= bright) {
        let others = (x.saturating_sub(1)..(x + 2).min(width)).filter(|&other| u16::from(above[other]) >= bright);
        for other in others {
            forest.join_sets((seam * width + x) as u32, ((seam - 1) * width + other) as u32);
        }
    }
}

/// Ranks the roots of a band, and links its other pixels to their root, or to a pixel of a band above.
fn count_roots(member: &TeamMember<'_>, planes: &ImagePlanes) -> Result<(), WorkError> {
    let width = planes.source.width();
    let mut roots = planes.roots.write_band(member.band);
    let mut ranks = planes.ranks.write_band(member.band);
    let first = (planes.source.band_rows(member.band).start * width) as u32;
    let mut count = 0;
    for (begin, ranks) in (0..).step_by(width).zip(ranks.chunks_exact_mut(width)) {
        member.check_stop()?;
        for (place, rank) in (begin..).zip(ranks) {
            let root = roots[place];
            if root == first + place as u32 {
                *rank = count;
                count += 1;
            } else if root != NONE && root >= first {
                roots[place] = roots[(root - first) as usize];
            }
        }
    }
    planes.root_counts[member.band].store(count, Ordering::Relaxed);
    Ok(())
}

/// Writes the labels of a band.
fn number_band(member: &TeamMember<'_>, planes: &ImagePlanes) -> Result<(), WorkError> {
    let (width, rows) = (planes.source.width(), planes.source.band_rows(member.band));
    let (roots, ranks) = (planes.roots.read_rows(0..rows.end), planes.ranks.read_rows(0..rows.end));
    // Number of sets that begin in the bands before each.
    let counts = planes.root_counts.iter().map(|count| count.load(Ordering::Relaxed));
    let begins: Vec<u32> = counts.scan(0, |sum, count| Some(std::mem::replace(sum, *sum + count))).collect();
    let mut labels = planes.labels.write_band(member.band);
    let mut last = (NONE, 0);
    for (y, labels) in rows.zip(labels.chunks_exact_mut(width)) {
        member.check_stop()?;
        for (label, &parent) in labels.iter_mut().zip(roots.row_at(y)) {
            // Neighbours mostly have the same parent.
            if parent != NONE && parent != last.0 {
                let root = find_top(&roots, parent);
                let begin = begins[planes.source.band_with_row(root as usize / width)];
                last = (parent, begin + ranks.value_at(root as usize) + 1);
            }
            *label = if parent == NONE { 0 } else { last.1 };
        }
    }
    Ok(())
}

/// Returns the root of a bright pixel.
fn find_top(roots: &PlaneWindow<'_, u32>, mut pixel: u32) -> u32 {
    loop {
        let parent = roots.value_at(pixel as usize);
        if parent == pixel {
            return pixel;
        }
        pixel = parent;
    }
}
