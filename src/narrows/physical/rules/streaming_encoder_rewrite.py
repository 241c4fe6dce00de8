"""StreamingEncoderRewrite: a payload is written while its rows still come.

SQL:     CREATE PIPELINE p INTO batches_json AS SELECT a FROM stream_4
Before:  PhysicalDataSink sink=batches_json
         └─PhysicalEncoder encoder=json
           └─PhysicalBatch batch_count=1000
             └─PhysicalProject fields=[stream_4.a]
               └─PhysicalDecoder schema=[a]
                 └─PhysicalDataSource source=stream_4
After:   PhysicalDataSink sink=batches_json
         └─PhysicalStreamingEncoder encoder=json, batch_count=1000
           └─PhysicalProject fields=[stream_4.a]
             └─PhysicalDecoder schema=[a]
               └─PhysicalDataSource source=stream_4

Recognises: an encoder above a batch whose format says that it can stream.

Refuses: formats that cannot (Parquet): there a batch is gathered first, then encoded.

Terminates: each step removes a batch, and none is made.
"""

from __future__ import annotations

from narrows.logical.nodes import Node
from narrows.logical.walk import transform_up
from narrows.physical.nodes import PhysicalBatch, PhysicalEncoder, PhysicalStreamingEncoder
from narrows.plugins.registry import FORMATS


class StreamingEncoderRewrite:
    def apply(self, plan: Node) -> Node | None:
        return transform_up(plan, _fuse)


def _fuse(node: Node) -> Node | None:
    if not (isinstance(node, PhysicalEncoder) and isinstance(node.child, PhysicalBatch)):
        return None
    if not FORMATS.find(node.sink.format).supports_streaming:
        return None
    return PhysicalStreamingEncoder(child=node.child.child, sink=node.sink)
