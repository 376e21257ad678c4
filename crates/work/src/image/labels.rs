//! Connected sets of bright pixels.

use std::ops::{DerefMut, Range};
use std::sync::atomic::Ordering;

use super::plane::Window;
use super::planes::{Member, Planes};
use crate::Error;

/// Root of a dark pixel.
const NONE: u32 = u32::MAX;

/// Numbers the sets of bright pixels that touch by sides or corners, from 1 in the order of their first pixels; dark pixels have 0.
///
/// It uses union-find in two passes. Each thread finds the sets of its band; a root is always a set's first pixel. Then neighbouring bands
/// are joined along their seams, two by two, four by four and so on, different pairs by different threads. Last, roots are counted and each
/// pixel takes its root's number.
pub fn label(member: &Member<'_>, planes: &Planes) -> Result<(), Error> {
    own_band(member, planes)?;
    let threads = member.threads();
    let mut step = 1;
    while step < threads {
        member.meet()?;
        if member.band.is_multiple_of(2 * step) && member.band + step < threads {
            join(planes, member.band..member.band + step, member.band + step..(member.band + 2 * step).min(threads));
        }
        step *= 2;
    }
    member.meet()?;
    count_roots(member, planes)?;
    member.meet()?;
    number(member, planes)
}

fn own_band(member: &Member<'_>, planes: &Planes) -> Result<(), Error> {
    let (rows, width, bright) = (planes.source.rows(member.band), planes.source.width(), planes.darkest_bright());
    let source = planes.source.around(member.band, 0);
    let mut roots = planes.roots.write(member.band);
    let mut forest = Band { first: (rows.start * width) as u32, roots: &mut roots };
    for y in rows.clone() {
        member.go_on()?;
        let above = (y > rows.start).then(|| source.row(y - 1));
        link_row(source.row(y), above, bright, (y * width) as u32, &mut forest);
    }
    Ok(())
}

/// Union-find forest of pixels; the root of a set is its first pixel.
trait Forest {
    /// Returns a pixel's parent, which is the pixel itself for a root.
    fn parent(&mut self, pixel: u32) -> &mut u32;

    /// Returns the root of a bright pixel's set, and shortens the path.
    fn root(&mut self, mut pixel: u32) -> u32 {
        loop {
            let parent = *self.parent(pixel);
            if parent == pixel {
                return pixel;
            }
            let above = *self.parent(parent);
            *self.parent(pixel) = above;
            pixel = above;
        }
    }

    /// Joins the sets of two bright pixels.
    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.root(one), self.root(other));
        *self.parent(one.max(other)) = one.min(other);
    }
}

/// Pixels from `first` on.
struct Band<'a> {
    first: u32,
    roots: &'a mut [u32],
}

impl Forest for Band<'_> {
    #[inline(always)]
    fn parent(&mut self, pixel: u32) -> &mut u32 {
        &mut self.roots[(pixel - self.first) as usize]
    }
}

/// Pixels of several bands, each with its first pixel.
struct Bands<G> {
    bands: Vec<(u32, G)>,
}

impl<G: DerefMut<Target = Vec<u32>>> Forest for Bands<G> {
    fn parent(&mut self, pixel: u32) -> &mut u32 {
        let band = self.bands.partition_point(|(first, _)| *first <= pixel) - 1;
        let (first, roots) = &mut self.bands[band];
        &mut roots[(pixel - *first) as usize]
    }
}

/// Links each bright pixel of a row to those on its left and above it. `first` is the row's first pixel.
fn link_row(row: &[u8], above: Option<&[u8]>, bright: u16, first: u32, forest: &mut Band<'_>) {
    let is_bright = |row: &[u8], x: usize| row.get(x).is_some_and(|&pixel| u16::from(pixel) >= bright);
    let width = row.len() as u32;
    for (x, pixel) in (0..row.len()).zip(first..) {
        if !is_bright(row, x) {
            *forest.parent(pixel) = NONE;
            continue;
        }
        let is_left = x > 0 && is_bright(row, x - 1);
        *forest.parent(pixel) = if is_left { forest.root(pixel - 1) } else { pixel };
        let Some(above) = above else { continue };
        // The middle pixel above connects its neighbours; the left one's set is joined already if there is a bright pixel on the left.
        if is_bright(above, x) {
            if !is_left {
                forest.join(pixel, pixel - width);
            }
        } else if x > 0 && !is_left && is_bright(above, x - 1) {
            forest.join(pixel, pixel - width - 1);
        }
        if is_bright(above, x + 1) && !is_bright(above, x) {
            forest.join(pixel, pixel - width + 1);
        }
    }
}

/// Joins the sets of two groups of bands along the seam between them.
fn join(planes: &Planes, upper: Range<usize>, lower: Range<usize>) {
    let (width, bright) = (planes.source.width(), planes.darkest_bright());
    let (first, seam) = (planes.source.rows(upper.start).start, planes.source.rows(lower.start).start);
    let last = planes.source.rows(lower.end - 1).end;
    if first == seam || seam == last {
        return;
    }
    let lock = |band: usize| ((planes.source.rows(band).start * width) as u32, planes.roots.write(band));
    let bands = (upper.start..lower.end).filter(|band| !planes.source.rows(*band).is_empty()).map(lock).collect();
    let mut forest = Bands { bands };
    let source = planes.source.read(seam - 1..seam + 1);
    let (above, below) = (source.row(seam - 1), source.row(seam));
    for x in (0..width).filter(|&x| u16::from(below[x]) >= bright) {
        let others = (x.saturating_sub(1)..(x + 2).min(width)).filter(|&other| u16::from(above[other]) >= bright);
        for other in others {
            forest.join((seam * width + x) as u32, ((seam - 1) * width + other) as u32);
        }
    }
}

/// Ranks the roots of a band, and links its other pixels to their root, or to a pixel of a band above.
fn count_roots(member: &Member<'_>, planes: &Planes) -> Result<(), Error> {
    let width = planes.source.width();
    let mut roots = planes.roots.write(member.band);
    let mut ranks = planes.ranks.write(member.band);
    let first = (planes.source.rows(member.band).start * width) as u32;
    let mut count = 0;
    for (begin, ranks) in (0..).step_by(width).zip(ranks.chunks_exact_mut(width)) {
        member.go_on()?;
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
fn number(member: &Member<'_>, planes: &Planes) -> Result<(), Error> {
    let (width, rows) = (planes.source.width(), planes.source.rows(member.band));
    let (roots, ranks) = (planes.roots.read(0..rows.end), planes.ranks.read(0..rows.end));
    // Number of sets that begin in the bands before each.
    let counts = planes.root_counts.iter().map(|count| count.load(Ordering::Relaxed));
    let begins: Vec<u32> = counts.scan(0, |sum, count| Some(std::mem::replace(sum, *sum + count))).collect();
    let mut labels = planes.labels.write(member.band);
    let mut last = (NONE, 0);
    for (y, labels) in rows.zip(labels.chunks_exact_mut(width)) {
        member.go_on()?;
        for (label, &parent) in labels.iter_mut().zip(roots.row(y)) {
            // Neighbours mostly have the same parent.
            if parent != NONE && parent != last.0 {
                let root = top(&roots, parent);
                let begin = begins[planes.source.band_of(root as usize / width)];
                last = (parent, begin + ranks.value(root as usize) + 1);
            }
            *label = if parent == NONE { 0 } else { last.1 };
        }
    }
    Ok(())
}

/// Returns the root of a bright pixel.
fn top(roots: &Window<'_, u32>, mut pixel: u32) -> u32 {
    loop {
        let parent = roots.value(pixel as usize);
        if parent == pixel {
            return pixel;
        }
        pixel = parent;
    }
}
