// Files of Python's packages. In a Python program, wheels bring libraries: the CUDA back end, and NVIDIA's.
#pragma once
#include <string>
#include <vector>

namespace neura {

// Where packages are looked for: the folders of sys.path when neura was imported. None in other programs.
std::vector<std::string>& package_folders();
// What is at `path` in one of these folders, in their order.
std::vector<std::string> package_files(const std::string& path);
// Where a library of CUDA may be, the best place first: lib of a package of NVIDIA's, where the system looks (the name
// alone), lib64 of the toolkit.
std::vector<std::string> nvidia_files(const std::string& name);
// The toolkit's folder: CUDA_HOME, CUDA_PATH or /usr/local/cuda.
std::string cuda_toolkit();

}  // namespace neura
