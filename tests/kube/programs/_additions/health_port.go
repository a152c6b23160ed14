// Compiled into mpi-operator: where its health is told is a constant there, and two clusters on a machine need two ports.
package app

import (
	"os"
	"strconv"
)

func init() {
	if port, err := strconv.Atoi(os.Getenv("MPI_OPERATOR_HEALTH_PORT")); err == nil {
		healthCheckPort = port
	}
}
