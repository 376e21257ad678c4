"""Places the threads of this process, and does nothing unless it was proven.

    import corewise

    corewise.place("spread(8, llc)").pin_threads()

The numbers of cpus come from the placement language of corewise; they stay inside the cpuset and the affinity mask with which Python was
started. COREWISE=off leaves every thread alone, and COREWISE_PLACE=EXPR replaces the expressions, whatever the program says.

Pools of OpenMP and BLAS start their threads at their first use: call pin_threads() after it, or before it so that they inherit the cpus.
They take their number of threads from the mask at that moment, or from threadpoolctl: threadpool_limits(len(placement)).
"""

import ctypes
import os

__all__ = ["Placement", "PlaceError", "place", "split", "proven", "parallelism"]

_ERROR_BYTES = 1024
_ROLES = ("compute", "mixed", "io")


class PlaceError(Exception):
    """A reason why threads are not placed; they run where they did."""


def _load_library():
    """Loads the library beside this file, or the one that COREWISE_LIBRARY names."""
    name = "corewise_c.dll" if os.name == "nt" else "libcorewise_c.so"
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    library = ctypes.CDLL(os.environ.get("COREWISE_LIBRARY") or (beside if os.path.exists(beside) else name))
    text, pointer, size, number = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    error = [ctypes.c_char_p, size]
    signatures = {
        "corewise_place": (pointer, [text] + error),
        "corewise_split": (pointer, [size, size] + error),
        "corewise_proven": (pointer, [text] + error),
        "corewise_parallelism": (size, [number]),
        "corewise_cpus": (size, [pointer, ctypes.POINTER(ctypes.c_uint32), size]),
        "corewise_pin": (number, [pointer, size, number] + error),
        "corewise_pin_threads": (number, [pointer, number] + error),
        "corewise_free": (None, [pointer]),
    }
    for function, (result, arguments) in signatures.items():
        getattr(library, function).restype = result
        getattr(library, function).argtypes = arguments
    return library


_library = _load_library()


def _call(function, failed, *arguments):
    """Calls a function that writes the reason for a failure."""
    error = ctypes.create_string_buffer(_ERROR_BYTES)
    result = function(*arguments, error, _ERROR_BYTES)
    if result == failed:
        raise PlaceError(error.value.decode("utf-8", "replace"))
    return result


class Placement:
    """Cpus in the order in which threads take them."""

    def __init__(self, pointer):
        self._pointer = pointer

    def __del__(self):
        pointer, self._pointer = getattr(self, "_pointer", None), None
        if pointer:
            _library.corewise_free(pointer)

    def __len__(self):
        return _library.corewise_cpus(self._pointer, None, 0)

    def __repr__(self):
        return "corewise.Placement({})".format(self.cpus)

    @property
    def cpus(self):
        """The numbers of the cpus."""
        numbers = (ctypes.c_uint32 * len(self))()
        _library.corewise_cpus(self._pointer, numbers, len(numbers))
        return list(numbers)

    def pin_this_thread(self, index=0, one_cpu_each=False):
        """Places the calling thread: on the whole placement, or on the cpu of an index."""
        _call(_library.corewise_pin, -1, self._pointer, index, int(one_cpu_each))

    def pin_threads(self, one_cpu_each=False):
        """Places all threads of the process, in the order of their starts; returns how many were placed."""
        return _call(_library.corewise_pin_threads, -1, self._pointer, int(one_cpu_each))


def place(expression):
    """Selects cpus by an expression of the placement language."""
    return Placement(_call(_library.corewise_place, None, expression.encode()))


def split(rank, ranks):
    """Returns the part of a rank, counted from 0, of all usable cpus."""
    return Placement(_call(_library.corewise_split, None, rank, ranks))


def proven(name):
    """Returns the placement that `corewise try --prove NAME` proved here; raises PlaceError with the reason if there is none."""
    return Placement(_call(_library.corewise_proven, None, name.encode()))


def parallelism(role="compute"):
    """Returns the number of threads that makes sense for "compute", "mixed" or "io"."""
    if role not in _ROLES:
        raise ValueError("a role is one of {}".format(", ".join(_ROLES)))
    return _library.corewise_parallelism(_ROLES.index(role))
