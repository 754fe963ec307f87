"""Typed and untyped storages, sizes in bytes, shared memory of views, typed constructors."""


def run(torch):
    x = torch.arange(6, dtype=torch.int32).reshape(2, 3)
    storage = x[1:].storage()
    bytes_ = x.untyped_storage()
    return {
        "length": len(storage),
        "first": storage[0],
        "list": storage.tolist(),
        "bytes": len(bytes_),
        "third": bytes_[4],
        "same": x.untyped_storage().data_ptr() == x[1:].untyped_storage().data_ptr(),
        "offset": x[1:].storage_offset(),
        "float": torch.FloatTensor([1, 2]).dtype == torch.float32,
        "long": torch.LongTensor(2, 3).shape,
        "type": x.type(),
        "is": isinstance(x.long(), torch.LongTensor),
        "storage": torch.FloatStorage([1.0, 2.0]).tolist(),
        "nbytes": x.nbytes,
    }
