"""Places the threads of Python as a user would, and checks what the system says."""

import os
import threading

import corewise

usable = os.sched_getaffinity(0)
everything = corewise.place("all")
assert set(everything.cpus) <= usable and len(everything) == len(everything.cpus) >= 1, everything

# A thread of a pool that runs already.
done, there = threading.Event(), threading.Event()
masks = []


def wait():
    there.set()
    done.wait()
    masks.append(os.sched_getaffinity(0))


waiting = threading.Thread(target=wait)
waiting.start()
there.wait()
assert everything.pin_threads() >= 2
done.set()
waiting.join()
assert masks == [set(everything.cpus)], masks

# One cpu each, for a thread that places itself.
masks.clear()


def pin():
    everything.pin_this_thread(len(everything) - 1, one_cpu_each=True)
    masks.append(os.sched_getaffinity(0))


pinned = threading.Thread(target=pin)
pinned.start()
pinned.join()
assert masks == [{everything.cpus[-1]}], masks

parts = [corewise.split(rank, 1) for rank in range(1)]
assert set(parts[0].cpus) == set(everything.cpus)
assert 1 <= corewise.parallelism("compute") <= corewise.parallelism("mixed")

for call, words in [
    (lambda: corewise.place("spread(8, lcc)"), "did you mean llc?"),
    (lambda: corewise.split(1, 1), "the first is 0"),
    (lambda: corewise.proven("no/name"), "a name has letters"),
]:
    try:
        call()
    except corewise.PlaceError as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)
try:
    corewise.parallelism("nothing")
except ValueError as error:
    assert "compute, mixed, io" in str(error)
print("placed")
