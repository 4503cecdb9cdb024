"""One module per generated page or block. Each returns Markdown made from the code it speaks about."""
