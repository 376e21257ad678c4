/* Starts a thread for each core and places each on its own cpu: cc pthread.c -lcorewise_c -lpthread */
#include <corewise.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct worker {
    const corewise_placement *placement;
    size_t index;
    int is_placed;
};

static void *run_worker(void *argument)
{
    struct worker *worker = argument;
    char error[256] = "";
    worker->is_placed = corewise_pin(worker->placement, worker->index, COREWISE_ONE_CPU, error, sizeof error) == 0;
    if (!worker->is_placed)
        fprintf(stderr, "worker %zu runs anywhere: %s\n", worker->index, error);
    return NULL;
}

int main(int count, char **arguments)
{
    char error[256] = "";
    corewise_placement *placement = corewise_place(count > 1 ? arguments[1] : "one-per-core", error, sizeof error);
    if (placement == NULL) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    size_t workers = corewise_cpus(placement, NULL, 0), placed = 0, started = 0;
    pthread_t *threads = calloc(workers, sizeof *threads);
    struct worker *all = calloc(workers, sizeof *all);
    if (threads == NULL || all == NULL)
        return 1;
    for (; started < workers; started++) {
        all[started].placement = placement;
        all[started].index = started;
        if (pthread_create(&threads[started], NULL, run_worker, &all[started]) != 0)
            break;
    }
    for (size_t index = 0; index < started; index++) {
        pthread_join(threads[index], NULL);
        placed += (size_t)all[index].is_placed;
    }
    printf("%zu of %zu workers placed\n", placed, workers);
    free(all);
    free(threads);
    corewise_free(placement);
    return placed == workers ? 0 : 1;
}
