"""Programs in other languages that run the SDKs' codecs on the shared vectors, and how they are started."""
