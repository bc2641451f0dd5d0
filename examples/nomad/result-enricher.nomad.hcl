# Keeps the plugin and its entry in a conflist on every client of a Nomad cluster (1.6 or later, for node_pool):
#
#   nomad job run -var release=https://ARTIFACTS/result-enricher/1.0 -var conflist=calico.conflist result-enricher.nomad.hcl
#
# Stopping the job changes nothing on the clients. To take the plugin off them, stop it, run the same job once with
# -var command=uninstall, and stop that one too. Allocations that run keep their network either way.
#
# The client's configuration has to allow the driver: plugin "raw_exec" { config { enabled = true } }. No container, because
# clients that run virtual machines often have no runtime for one, and the agent does its own CNI work as root as well.

variable "release" {
  type        = string
  description = "Where the archives of `make dist` and their SHA256SUMS are to be had."
}

variable "conflist" {
  type        = string
  description = "The file of the network that groups name with network { mode = \"cni/NAME\" }."
}

variable "command" {
  type        = string
  default     = "install"
  description = "install or uninstall."
}

job "result-enricher" {
  type        = "system"
  datacenters = ["*"]
  node_pool   = "all"
  # Before the jobs whose allocations need the Result.
  priority = 90

  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
  }

  # Client by client: a client without it keeps what it has.
  update {
    max_parallel = 1
    stagger      = "10s"
  }

  group "client" {
    # A client on which something is not there yet is tried again for ever.
    restart {
      interval = "1m"
      attempts = 3
      delay    = "15s"
      mode     = "delay"
    }

    task "enrichctl" {
      driver = "raw_exec"
      user   = "root"

      # Both programs, side by side: enrichctl installs the plugin that lies beside it.
      artifact {
        source      = "${var.release}/result-enricher-linux-${attr.cpu.arch}.tar.gz"
        destination = "local/"
        options {
          checksum = "file:${var.release}/SHA256SUMS"
        }
      }

      config {
        command = "${NOMAD_TASK_DIR}/enrichctl"
        args    = [var.command, "--watch"]
      }

      env {
        # Nomad's defaults; the client's cni_config_dir and cni_path.
        ENRICHCTL_CNI_CONF_DIR = "/opt/cni/config"
        ENRICHCTL_CNI_BIN_DIR  = "/opt/cni/bin"
        # Nomad has as many networks as there are files, so the first one is not meant by itself.
        ENRICHCTL_CONF_FILE = var.conflist
        # Drivers of virtual machines configure the guest by hand and want to know the gateway.
        ENRICHCTL_PLUGIN_CONFIG = jsonencode({ gateways = true })
      }

      # It ends at once when it is told to.
      kill_timeout = "5s"

      resources {
        cpu    = 20
        memory = 64
      }
    }
  }
}
