// What the garbage collector cannot see by itself: the handles of C++ that keep a tensor, and with it the attributes of
// its object. While it collects, every handle that a Python object answers for counts as a reference to the tensor's
// object: that of a module's member as the module's, that of a gradient as the tensor's. A tensor with any other handle
// (in a graph, in a container of C++) is in use.
#pragma once
#include "common.h"

namespace neura::python {

void watch_tensor(PyObject*);  // it has attributes or hooks now, which may lead anywhere
void forget_tensor(PyObject*);
void watch_module(PyObject*);
void forget_module(PyObject*);

bool all_handles_known(PyTensor*);  // nothing but itself and objects the collector knows holds the tensor
int visit_held_by_cpp(PyObject* holder, visitproc, void* arg);

void bind_collector(nb::module_&);

}  // namespace neura::python
