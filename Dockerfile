# syntax=docker/dockerfile:1
# One image for every service: `serve control-plane-api` and its like, `sim`, or any other command of lcm.

# A digest behind the tag, such as node:22-bookworm-slim@sha256:…, pins the image.
ARG NODE_IMAGE=node:22-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/tmp/npm-cache npm ci --cache /tmp/npm-cache && npm run pack
WORKDIR /app
RUN tar -xzf /src/dist/lablet-cloud-manager-*.tgz --strip-components=1
# The package brings its own lock. What is native in it ships built, for glibc, so no script has to run.
RUN --mount=type=cache,target=/tmp/npm-cache npm ci --omit=dev --ignore-scripts --cache /tmp/npm-cache

FROM ${NODE_IMAGE}
ENV NODE_ENV=production LCM_DATA=/data
COPY --from=build /app /app
RUN ln -s /app/dist/lcm.mjs /usr/local/bin/lcm && install -d -m 700 -o node -g node /data
# By number, so that Kubernetes can tell that it is not root.
USER 1000:1000
WORKDIR /data
VOLUME /data
EXPOSE 8080 8081 8082 8083
STOPSIGNAL SIGTERM
# Whichever service runs here, it answers on its own port, with HTTPS if it has a certificate.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --start-interval=1s CMD ["node", "-e", \
  "const { get } = require(process.env.LCM_TLS_CERT_FILE ? 'https' : 'http'); \
  const ready = port => new Promise((ok, fail) => get({ host: '127.0.0.1', port, path: '/ready', rejectUnauthorized: false }, \
  ({ statusCode }) => (statusCode === 200 ? ok : fail)()).on('error', fail)); \
  Promise.any([8080, 8081, 8082, 8083].map(ready)).then(() => process.exit(0), () => process.exit(1))"]
ENTRYPOINT ["lcm"]
CMD ["--help"]
