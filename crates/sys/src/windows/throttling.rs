//! Power throttling: Windows may run a process that it takes for background work on slower cores, or at a lower clock rate (EcoQoS).

use std::io;

use windows_sys::Win32::System::Threading::{
    PROCESS_POWER_THROTTLING_CURRENT_VERSION, PROCESS_POWER_THROTTLING_EXECUTION_SPEED, PROCESS_POWER_THROTTLING_STATE,
    ProcessPowerThrottling, SetProcessInformation,
};

use super::handle::{KernelHandle, check_result};

/// Turns throttling off for a process, regardless of the system's own assessment.
pub fn turn_off(process: &KernelHandle) -> io::Result<()> {
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
