#!/bin/sh
# PostgreSQL of `make cluster`: its data in $CLUSTER, its port on 127.0.0.1 alone, with a password.
#   postgresql.sh prepare   make the database where there is none, with tables and demo, and write $CLUSTER/environment
#   postgresql.sh start, stop   in the background
#   postgresql.sh serve     serve it until SIGTERM
#   postgresql.sh wait      until it answers, a minute at most
set -eu
: "${CLUSTER:?}" "${POSTGRESQL_PORT:?}"
data=$CLUSTER/postgresql

programs=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
[ -n "$programs" ] || programs=$(dirname "$(command -v initdb || echo /nowhere/initdb)")
if [ ! -x "$programs/initdb" ]; then
	echo "make cluster: PostgreSQL's programs are missing (Debian: apt install postgresql)" >&2
	exit 1
fi

as_owner() { # PostgreSQL refuses to run as root
	if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

server() { # its options are words: no data folder has blanks in it
	as_owner "$programs/pg_ctl" -D "$data" -l "$CLUSTER/postgresql.log" -w "$@"
}

make_database() {
	mkdir -p "$data"
	chmod 700 "$data"
	umask 077
	password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
	echo "$password" >"$CLUSTER/password"
	touch "$CLUSTER/postgresql.log"
	if [ "$(id -u)" = 0 ]; then
		chown postgres "$data" "$CLUSTER/password" "$CLUSTER/postgresql.log"
		chmod 711 "$CLUSTER"
		if ! runuser -u postgres -- test -w "$data"; then
			echo "make cluster: the user postgres cannot reach $data; choose a folder: make cluster CLUSTER=FOLDER" >&2
			exit 1
		fi
	fi
	as_owner "$programs/initdb" -D "$data" -U mpet -A scram-sha-256 --pwfile "$CLUSTER/password" -E UTF8 >/dev/null
}

case $1 in
prepare)
	mkdir -p "$CLUSTER"
	[ -f "$data/PG_VERSION" ] || make_database
	cat >"$CLUSTER/environment" <<-END
		DATABASE_URL=postgres://mpet:$(cat "$CLUSTER/password")@127.0.0.1:$POSTGRESQL_PORT/postgres
		MPET_STATE_DIR=$CLUSTER/state
		MPET_STATIC_ROOT=$CLUSTER/static
		MPET_TASKS=database
		MPET_WEB=$HOST:$PORT
		DASK_PORT=$DASK_PORT
		DASK_SCHEDULER=tcp://127.0.0.1:$DASK_PORT
		PYTHONPATH=.
		OPENBLAS_NUM_THREADS=1
	END
	chmod 600 "$CLUSTER/environment"
	;;
start) server -o "-h 127.0.0.1 -p $POSTGRESQL_PORT -k ''" start >/dev/null ;;
stop) server -m fast stop >/dev/null ;;
wait)
	for _ in $(seq 300); do
		if "$programs/pg_isready" -q -h 127.0.0.1 -p "$POSTGRESQL_PORT"; then exit 0; fi
		sleep 0.2
	done
	echo "make cluster: PostgreSQL does not answer" >&2
	exit 1
	;;
serve)
	trap 'server -m fast stop >/dev/null 2>&1 || true' TERM INT
	as_owner "$programs/postgres" -D "$data" -h 127.0.0.1 -p "$POSTGRESQL_PORT" -k "" &
	wait || true
	wait
	;;
esac
