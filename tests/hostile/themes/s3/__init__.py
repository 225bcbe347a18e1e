"""What an S3 service may do, where it is not what a Blob service may do in the same way."""
