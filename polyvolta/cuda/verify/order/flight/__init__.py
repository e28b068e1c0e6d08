"""What is in flight: who reads, overwrites or ends before asynchronous operations are over."""
