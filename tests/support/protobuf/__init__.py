"""Messages in Protobuf, compiled by `protoc` and read by Google's own library."""
