/* Places the threads of OpenMP's pool, which stay between parallel regions: cc -fopenmp openmp.c -lcorewise_c */
#include <corewise.h>

#include <omp.h>
#include <stdio.h>

int main(void)
{
    char error[256] = "";
    corewise_placement *placement = corewise_place("one-per-core", error, sizeof error);
    if (placement == NULL) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    int placed = 0, threads = (int)corewise_cpus(placement, NULL, 0);
    omp_set_dynamic(0);
    omp_set_num_threads(threads);
#pragma omp parallel reduction(+ : placed)
    {
        char why[256] = "";
        int failed = corewise_pin(placement, (size_t)omp_get_thread_num(), COREWISE_ONE_CPU, why, sizeof why);
        if (failed)
            fprintf(stderr, "thread %d runs anywhere: %s\n", omp_get_thread_num(), why);
        placed += !failed;
    }
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int step = 1; step <= 1000000; step++)
        sum += 1.0 / step;
    printf("%d of %d threads placed; the sum is %.6f\n", placed, threads, sum);
    corewise_free(placement);
    return placed == threads ? 0 : 1;
}
