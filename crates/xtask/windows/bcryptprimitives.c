/* The one function that programs of Rust need of bcryptprimitives.dll, which Wine has since 8.13 only: random bytes. */
#include <windows.h>

/* RtlGenRandom of advapi32.dll. */
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T length) {
    const SIZE_T most = 1 << 28;
    for (; length > 0; ) {
        SIZE_T part = length < most ? length : most;
        if (!SystemFunction036(bytes, (ULONG)part))
            return FALSE;
        bytes += part;
        length -= part;
    }
    return TRUE;
}
