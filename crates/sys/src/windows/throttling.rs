//! Power throttling: Windows may run a process on slower cores, or at a lower clock rate, that it takes for background work (EcoQoS).

use std::io;

use windows_sys::Win32::System::Threading::{
    PROCESS_POWER_THROTTLING_CURRENT_VERSION, PROCESS_POWER_THROTTLING_EXECUTION_SPEED, PROCESS_POWER_THROTTLING_STATE,
    ProcessPowerThrottling, SetProcessInformation,
};

use super::handle::{Handle, checked};

/// Takes the decision out of the system's hands: a process is not throttled, whatever it seems to do.
pub fn turn_off(process: &Handle) -> io::Result<()> {
    let state = PROCESS_POWER_THROTTLING_STATE {
        Version: PROCESS_POWER_THROTTLING_CURRENT_VERSION,
        ControlMask: PROCESS_POWER_THROTTLING_EXECUTION_SPEED,
        StateMask: 0,
    };
    // SAFETY: the kernel reads the structure, whose size it is given.
    checked(unsafe {
        SetProcessInformation(
            process.raw(),
            ProcessPowerThrottling,
            (&raw const state).cast(),
            size_of_val(&state) as u32,
        )
    })
}
