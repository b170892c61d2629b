// Communicators: the ranks of a job that run one program over several devices; for compile().
#pragma once

#include "dist/communication_error.h"
#include "dist/job_communicator.h"
#include "dist/open_communicator.h"
#include "dist/sockets/bootstrap.h"
