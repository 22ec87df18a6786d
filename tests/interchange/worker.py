"""An import or sync in a process of its own, to be killed: worker.py import|sync STORE WHAT."""

import sys

from support import MODEL

from memai import embedding, operations
from memai.records import Caller
from memai.settings import resolve
from memai.store.sqlite import SQLiteStore

embedding._loaded[MODEL.name] = MODEL
_, act, path, what = sys.argv
store = SQLiteStore(resolve(path)._replace(model=MODEL.name), Caller(agent="worker"))
print("ready", flush=True)
if act == "import":
    operations.import_memories(store, what)
else:
    operations.sync(store, what)
print("done", flush=True)
