//! Power throttling (EcoQoS). If Windows regards a process as background work, it may run it on slower cores or at a lower clock rate.

use std::io;

use windows_sys::Win32::System::Threading::{
    PROCESS_POWER_THROTTLING_CURRENT_VERSION, PROCESS_POWER_THROTTLING_EXECUTION_SPEED, PROCESS_POWER_THROTTLING_STATE,
    ProcessPowerThrottling, SetProcessInformation,
};

use super::handle::{KernelHandle, check_result};

/// Turns throttling off for a process, whatever Windows would decide itself.
pub fn disable_throttling(process: &KernelHandle) -> io::Result<()> {
    // The mask takes control of execution speed; state 0 means not throttled.
    let state = PROCESS_POWER_THROTTLING_STATE {
        Version: PROCESS_POWER_THROTTLING_CURRENT_VERSION,
        ControlMask: PROCESS_POWER_THROTTLING_EXECUTION_SPEED,
        StateMask: 0,
    };
    // SAFETY: the kernel reads the structure, and is given its size.
    check_result(unsafe {
        SetProcessInformation(
            process.as_raw(),
            ProcessPowerThrottling,
            (&raw const state).cast(),
            size_of_val(&state) as u32,
        )
    })
}
