/* Lives until its standard input ends, and prints its masks whenever they change: that of the process, and that of its second thread.
 *
 *     lives.exe [WORD]          reads commands, a line each:  own MASK · thread MASK · child · busy
 *     lives.exe set PID MASK    sets the mask of another process
 *
 * A child prints the same lines after "child ", and ends with it. Masks are hexadecimal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

static const char *prefix = "";
static HANDLE second;

static unsigned long long of_second(void) {
    GROUP_AFFINITY affinity = {0};
    GetThreadGroupAffinity(second, &affinity);
    return affinity.Mask;
}

static DWORD WINAPI sleeps(void *unused) {
    Sleep(INFINITE);
    return 0;
}

static DWORD WINAPI is_busy(void *unused) {
    for (volatile unsigned count = 0;; count++) {
    }
    return 0;
}

static DWORD WINAPI watches(void *unused) {
    unsigned long long process = 0, thread = 0;
    for (;; Sleep(20)) {
        DWORD_PTR now, of_system;
        GetProcessAffinityMask(GetCurrentProcess(), &now, &of_system);
        if (now == process && of_second() == thread)
            continue;
        process = now;
        thread = of_second();
        printf("%smasks %llx %llx\n", prefix, process, thread);
        fflush(stdout);
    }
    return 0;
}

static void start_child(void) {
    char program[MAX_PATH], line[MAX_PATH + 16];
    STARTUPINFOA startup = {.cb = sizeof startup};
    PROCESS_INFORMATION process;
    HANDLE job = CreateJobObjectA(NULL, NULL);
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {0};
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits);
    GetModuleFileNameA(NULL, program, sizeof program);
    snprintf(line, sizeof line, "\"%s\" of-child", program);
    if (CreateProcessA(program, line, NULL, NULL, TRUE, 0, NULL, NULL, &startup, &process))
        AssignProcessToJobObject(job, process.hProcess);
}

static int set(const char *process, const char *mask) {
    HANDLE handle = OpenProcess(PROCESS_SET_INFORMATION, FALSE, strtoul(process, NULL, 10));
    return handle && SetProcessAffinityMask(handle, strtoull(mask, NULL, 16)) ? 0 : 1;
}

int main(int count, char **arguments) {
    char line[64];
    int is_child = count == 2 && !strcmp(arguments[1], "of-child");
    if (count == 4 && !strcmp(arguments[1], "set"))
        return set(arguments[2], arguments[3]);
    prefix = is_child ? "child " : "";
    printf("%spid %lu\n", prefix, GetCurrentProcessId());
    fflush(stdout);
    second = CreateThread(NULL, 0, sleeps, NULL, 0, NULL);
    CreateThread(NULL, 0, watches, NULL, 0, NULL);
    if (is_child)
        Sleep(INFINITE);
    while (fgets(line, sizeof line, stdin)) {
        unsigned long long mask;
        GROUP_AFFINITY affinity = {0};
        if (sscanf(line, "own %llx", &mask) == 1)
            SetProcessAffinityMask(GetCurrentProcess(), mask);
        if (sscanf(line, "thread %llx", &mask) == 1) {
            affinity.Mask = mask;
            SetThreadGroupAffinity(second, &affinity, NULL);
        }
        if (!strncmp(line, "busy", 4))
            CreateThread(NULL, 0, is_busy, NULL, 0, NULL);
        if (!strncmp(line, "child", 5))
            start_child();
    }
    return 0;
}
