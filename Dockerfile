# The image has the two programs and nothing else: no shell, no package to keep up to date, nothing to be fetched.
#
# The context is the directory that `make build` fills, so nothing is compiled here, and no base image is needed:
#
#   make image                                  with buildah, podman or docker
#   docker build --file Dockerfile bin          the same by hand
FROM scratch

# Side by side: enrichctl installs the plugin that lies beside it.
COPY result-enricher enrichctl /

# By number, because there is no /etc/passwd: Kubernetes can tell who it is without asking the image.
# Root, because the CNI directories are root's; the capabilities are the manifest's choice.
USER 0:0

ENTRYPOINT ["/enrichctl"]
# Says how the node stands. It changes nothing, in case somebody only wants to see what the image does.
CMD ["status"]
