/* corewise: places a program's own threads, and does nothing unless it was proven.
 *
 * An expression of the placement language selects cpus on any machine: "llc:0", "all - core:0", "spread(8, llc)". It stays inside the
 * cpuset and the affinity mask that the process was started with, and every mask is read back after it was set. The person who runs the
 * program can set COREWISE=off, which leaves every thread alone, or COREWISE_PLACE=EXPR, which replaces the program's expressions.
 *
 * Functions that fail write a text of at most error_size bytes, with the zero at its end, to error. error may be NULL.
 * All functions may be called from several threads at once. Each call that makes a placement reads the machine, which takes milliseconds.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef COREWISE_H
#define COREWISE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Cpus in the order in which threads take them. */
typedef struct corewise_placement corewise_placement;

/* What a thread gets: all cpus of the placement, or the one of its index. */
enum { COREWISE_MASK = 0, COREWISE_ONE_CPU = 1 };

/* What threads do: compute (one for each core), also wait for memory (one for each cpu), wait for devices (one for each last-level
 * cache). */
enum { COREWISE_COMPUTE = 0, COREWISE_MIXED = 1, COREWISE_IO = 2 };

/* Returns the cpus of an expression, or NULL. */
corewise_placement *corewise_place(const char *expression, char *error, size_t error_size);

/* Returns the part of rank (0 to ranks - 1) of all usable cpus, or NULL. Parts are disjoint, and have whole cores if there are enough. */
corewise_placement *corewise_split(size_t rank, size_t ranks, char *error, size_t error_size);

/* Returns the placement that `corewise try --prove NAME` proved on this machine, or NULL with the reason: leave the threads alone then. */
corewise_placement *corewise_proven(const char *name, char *error, size_t error_size);

/* Returns the number of threads that makes sense for a role, within a quota of processor time; 0 for an unknown role. */
size_t corewise_parallelism(int role);

/* Writes the numbers of at most capacity cpus to cpus, which may be NULL. Returns how many the placement has. */
size_t corewise_cpus(const corewise_placement *placement, uint32_t *cpus, size_t capacity);

/* Places the calling thread; indices beyond the last cpu begin again. Returns 0, or -1: the thread runs where it did. */
int corewise_pin(const corewise_placement *placement, size_t index, int how, char *error, size_t error_size);

/* Places all threads of the process, in the order of their starts. Returns how many were placed, or -1 if one was not. */
int corewise_pin_threads(const corewise_placement *placement, int how, char *error, size_t error_size);

/* Frees a placement, which may be NULL. Threads stay where they are. */
void corewise_free(corewise_placement *placement);

#ifdef __cplusplus
}
#endif

#endif
