//! Made-up stalls and events: whose each part is, to the nanosecond.

mod events;
mod made;
mod sums;
mod together;

use made::{LOOP, MadeEvents, called, device, enter, exit, fault, non_maskable, sent, soft, switch, task, timer, work};
