// Reading and replacing files. IoError carries the system's own words; a file that is replaced is either the old one or
// the new one, whatever happens in between.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace neura {
struct Storage;
}

namespace neura::io {

// A file in memory, page by page as it is used. Writes here are private, not to the file. If the file is truncated
// meanwhile, its memory is gone: the process then ends by a bus error, as with every mapping.
struct Mapping {
  Mapping(int file, std::uint64_t offset, std::uint64_t size, const std::string& path);  // IoError
  explicit Mapping(std::span<const std::byte> borrowed);  // of memory that outlives it and is not written
  Mapping(const Mapping&) = delete;
  ~Mapping();
  std::byte* data = nullptr;
  std::uint64_t size;

 private:
  std::uint64_t before_ = 0;  // bytes of the first page before `data`
  bool borrowed_ = false;
};

// The bytes of a mapping from `begin` on, as a storage that keeps the mapping.
Storage* storage_of(std::shared_ptr<Mapping>, std::uint64_t begin, std::size_t bytes);

// Bytes at rest: a file or a piece of memory, and the name that errors use for it.
class Source {
 public:
  // Opens a regular file for reading. IoError if the system refuses or it is something else (a folder, a pipe).
  explicit Source(const std::string& path, bool mmap = false);
  // The part of such a file that begins at `offset`. FormatError where the file is shorter.
  Source(const std::string& path, std::uint64_t offset, std::uint64_t size, bool mmap);
  // Borrows `bytes`; mmap: for as long as what was read from it lives, as with a file that is mapped.
  Source(std::span<const std::byte> bytes, std::string name, bool mmap = false);
  Source(const Source&) = delete;
  ~Source();

  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }
  const std::shared_ptr<Mapping>& mapping() const { return mapping_; }  // null without mmap
  // Exactly n bytes from `offset`; the caller has checked them against size(). FormatError if the file shrank
  // meanwhile.
  void read(std::uint64_t offset, void* to, std::size_t n) const;

 private:
  void open(const std::string& path);
  void map();
  std::string name_;
  int file_ = -1;
  const std::byte* memory_ = nullptr;
  std::uint64_t begin_ = 0, size_ = 0;
  std::shared_ptr<Mapping> mapping_;
};

// The whole file. IoError; OutOfMemoryError is left to the caller's allocator.
std::string read_file(const std::string& path);

// A file being written under a temporary name in the same folder. commit() makes it durable and gives it its name;
// without commit() nothing of it stays, and a file that had the name before is untouched.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  AtomicFile(const AtomicFile&) = delete;
  ~AtomicFile();
  void write(const void* bytes, std::size_t n);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  [[noreturn]] void fail(const char* action) const;
  std::string path_, target_, temporary_, folder_;
  int file_ = -1;
};

// AtomicFile in one call.
void write_file(const std::string& path, std::string_view text);

}  // namespace neura::io
