#!/bin/sh
echo "hello from $(hostname), as $(id -un)"
