/* Prints its arguments, the cpus that it may use, and those of a child that it starts; then ends with a status. As `score`, it prints a score
 * that is twice as high on the second cpu alone as elsewhere. As `press`, it starts a program in a console of its own, presses Ctrl-C there
 * after so many milliseconds, and ends with the program's status. As `wait`, it waits half a minute for Ctrl-C, and ends with 9 then. As
 * `threads`, it has three threads for a moment, of which one gave itself the first cpu.
 *
 *     masks.exe [exit STATUS | score | wait | threads | press MILLISECONDS PROGRAM ARGUMENT… | argument…]
 *
 * The mask is read in a constructor, before main, so that a mask which comes into force late would be seen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

static DWORD_PTR at_start;

__attribute__((constructor)) static void look(void) {
    DWORD_PTR of_system;
    GetProcessAffinityMask(GetCurrentProcess(), &at_start, &of_system);
}

static void child(const char *program) {
    char line[MAX_PATH + 16];
    STARTUPINFOA startup = {.cb = sizeof startup};
    PROCESS_INFORMATION process;
    snprintf(line, sizeof line, "\"%s\" of-child", program);
    fflush(stdout);
    if (!CreateProcessA(program, line, NULL, NULL, TRUE, 0, NULL, NULL, &startup, &process)) {
        printf("no child: %lu\n", GetLastError());
        return;
    }
    WaitForSingleObject(process.hProcess, INFINITE);
}

static BOOL WINAPI end_with_9(DWORD event) {
    if (event == CTRL_C_EVENT)
        ExitProcess(9);
    return FALSE;
}

static BOOL WINAPI go_on(DWORD event) {
    return event == CTRL_C_EVENT;
}

static int press(int count, char **arguments) {
    char line[2048] = "";
    STARTUPINFOA startup = {.cb = sizeof startup, .dwFlags = STARTF_USESTDHANDLES};
    PROCESS_INFORMATION process;
    DWORD status = 255;
    for (int place = 1; place < count; place++)
        snprintf(line + strlen(line), sizeof line - strlen(line), "\"%s\" ", arguments[place]);
    startup.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
    startup.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
    startup.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    FreeConsole();
    AllocConsole();
    SetConsoleCtrlHandler(go_on, TRUE);
    if (!CreateProcessA(NULL, line, NULL, NULL, TRUE, 0, NULL, NULL, &startup, &process))
        return 254;
    Sleep(atoi(arguments[0]));
    if (!GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0))
        return 253;
    WaitForSingleObject(process.hProcess, INFINITE);
    GetExitCodeProcess(process.hProcess, &status);
    return status;
}

static DWORD WINAPI rest(void *mask) {
    if (mask)
        SetThreadAffinityMask(GetCurrentThread(), (DWORD_PTR)mask);
    Sleep(1000);
    return 0;
}

static int have_threads(void) {
    HANDLE threads[] = {CreateThread(NULL, 0, rest, NULL, 0, NULL), CreateThread(NULL, 0, rest, (void *)1, 0, NULL)};
    WaitForMultipleObjects(2, threads, TRUE, INFINITE);
    return 0;
}

int main(int count, char **arguments) {
    char program[MAX_PATH];
    GetModuleFileNameA(NULL, program, sizeof program);
    if (count == 2 && !strcmp(arguments[1], "of-child")) {
        printf("child %llx\n", (unsigned long long)at_start);
        return 0;
    }
    if (count == 2 && !strcmp(arguments[1], "score")) {
        printf("score=%.2f\n", (at_start == 2 ? 20 : 10) + GetTickCount() % 16 / 100.0);
        return 0;
    }
    if (count == 2 && !strcmp(arguments[1], "threads"))
        return have_threads();
    if (count == 2 && !strcmp(arguments[1], "wait")) {
        SetConsoleCtrlHandler(end_with_9, TRUE);
        Sleep(30000);
        return 8;
    }
    if (count > 3 && !strcmp(arguments[1], "press"))
        return press(count - 2, arguments + 2);
    printf("own %llx\n", (unsigned long long)at_start);
    child(program);
    if (count == 3 && !strcmp(arguments[1], "exit"))
        return atoi(arguments[2]);
    for (int place = 1; place < count; place++)
        printf("argument [%s]\n", arguments[place]);
    return 0;
}
