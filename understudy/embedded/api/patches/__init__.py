"""Changes to objects as clients write them: turns a document and a patch into a new document, never touching either."""
