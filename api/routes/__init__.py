"""Routes by area. A route declares who may ask, reads the request, calls a service, and shapes the answer."""
