// The numbers of docs/memory.md by a second program, against which corewise's probe is checked: pointers in a shuffled array, the system's clock.
//
// second CPU staircase|node|node-small BYTES          nanoseconds of a load
// second CPU read|write|write-past|copy BYTES huge|small   gigabytes a second
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { MOST = 4096, BLOCK = 1 << 20 };
static const double VISIT_NS = 25e6, WARM_NS = 5e6, PIECE_NS = 40e3;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int rising(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, int count) {
    qsort(values, count, sizeof *values, rising);
    return values[count / 2];
}

static char *memory(size_t bytes, int huge) {
    char *raw = mmap(NULL, bytes + (2 << 20), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) exit(1);
    char *start = (char *)(((uintptr_t)raw + (2 << 20) - 1) & ~(uintptr_t)((2 << 20) - 1));
    madvise(start, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    memset(start, 1, bytes);
    return start;
}

static uint64_t state = 88172645463325252u;

static uint64_t chance(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

// One cycle through all elements: their order is shuffled, and each points to the next in that order.
static void **chain(char *start, size_t bytes, size_t apart) {
    size_t count = bytes / apart;
    uint32_t *order = malloc(count * sizeof *order);
    for (size_t i = 0; i < count; i++) order[i] = i;
    for (size_t i = count - 1; i > 0; i--) {
        size_t j = chance() % (i + 1);
        uint32_t other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
    for (size_t i = 0; i < count; i++)
        *(void **)(start + order[i] * apart) = start + (size_t)order[(i + 1) % count] * apart;
    free(order);
    return (void **)start;
}

static void **walk(void **at, long loads) {
    for (long i = 0; i < loads; i++) at = (void **)*at;
    __asm__ volatile("" : "+r"(at));
    return at;
}

static double latency(size_t bytes, size_t apart, int huge) {
    void **at = chain(memory(bytes, huge), bytes, apart);
    long loads = 256;
    // A small working set is walked through often enough before it is timed; of a large one a part must do.
    double begin = now();
    while (now() - begin < WARM_NS) {
        double from = now();
        at = walk(at, loads);
        double took = now() - from;
        loads = loads * (PIECE_NS / took);
        if (loads < 256) loads = 256;
        if (loads > 65536) loads = 65536;
    }
    static double pieces[MOST];
    int count = 0;
    for (begin = now(); count < MOST && (now() - begin < VISIT_NS || count < 16);) {
        double from = now();
        at = walk(at, loads);
        pieces[count++] = (now() - from) / loads;
    }
    return median(pieces, count);
}

static void reads(const uint64_t *block) {
    uint64_t sum[8] = {0};
    for (size_t i = 0; i < BLOCK / 8; i += 8)
        for (int k = 0; k < 8; k++) sum[k] += block[i + k];
    __asm__ volatile("" : : "r"(sum[0] ^ sum[1] ^ sum[2] ^ sum[3] ^ sum[4] ^ sum[5] ^ sum[6] ^ sum[7]));
}

static void writes(uint64_t *block, uint64_t value) {
    for (size_t i = 0; i < BLOCK / 8; i++) block[i] = value + i;
    __asm__ volatile("" : : "r"(block) : "memory");
}

static void writes_past(uint64_t *block, uint64_t value) {
#if defined(__x86_64__)
    for (size_t i = 0; i < BLOCK / 8; i += 2) _mm_stream_si128((__m128i *)(block + i), _mm_set1_epi64x(value));
    _mm_sfence();
#else
    for (size_t i = 0; i < BLOCK / 8; i += 2)
        __asm__ volatile("stnp %0, %0, [%1]" : : "r"(value), "r"(block + i) : "memory");
#endif
}

static void copies(const uint64_t *from, uint64_t *to) {
    for (size_t i = 0; i < BLOCK / 8; i++) to[i] = from[i] + 1;
    __asm__ volatile("" : : "r"(to) : "memory");
}

static double bandwidth(const char *mode, size_t bytes, int huge) {
    char *start = memory(bytes, huge);
    int copy = !strcmp(mode, "copy");
    size_t whole = copy ? bytes / 2 : bytes, at = 0;
    char *to = start + (bytes / 2 & ~(size_t)63);
    static double blocks[MOST * 16];
    int count = 0;
    double begin = now(), last = begin;
    while (count < MOST * 16 && (last - begin < VISIT_NS || count < 9)) {
        if (at + BLOCK > whole) at = 0;
        uint64_t *block = (uint64_t *)(start + at);
        if (copy) copies(block, (uint64_t *)(to + at));
        else if (!strcmp(mode, "read")) reads(block);
        else if (!strcmp(mode, "write")) writes(block, at);
        else writes_past(block, at);
        at += BLOCK;
        double then = now();
        if (then - begin > WARM_NS) blocks[count++] = then - last;
        last = then;
    }
    return (copy ? 2.0 : 1.0) * BLOCK / median(blocks, count);
}

int main(int count, char **words) {
    if (count < 4) return 2;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(words[1]), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus)) return 1;
    for (double begin = now(); now() - begin < 20e6;) {}
    const char *mode = words[2];
    size_t bytes = strtoull(words[3], NULL, 10);
    if (!strcmp(mode, "staircase")) printf("%f\n", latency(bytes, 64, 1));
    else if (!strcmp(mode, "node")) printf("%f\n", latency(bytes, 128, 1));
    else if (!strcmp(mode, "node-small")) printf("%f\n", latency(bytes, 128, 0));
    else if (count == 5) printf("%f\n", bandwidth(mode, bytes, !strcmp(words[4], "huge")));
    else return 2;
    return 0;
}
