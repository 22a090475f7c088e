/** Every problem that the API can return. A code is never reused for another meaning. `help` says why and what to do. */
export const PROBLEMS = {
  malformed_json: {
    status: 400,
    title: 'The body is not valid JSON',
    help: 'The body is not JSON or not UTF-8. `detail` has the position. Fix the body and send it again.',
  },
  validation_failed: {
    status: 400,
    title: 'The request does not match its schema',
    help: '`errors` lists each wrong field. Fix them; `/api/v1/openapi.json` has the schema.',
  },
  topology_invalid: {
    status: 422,
    title: 'CML cannot import this topology',
    help:
      'The YAML cannot be parsed, or is not a CML lab. `errors` lists each place with its line. Fix these ' +
      'lines and try again.',
  },
  port_node_unknown: {
    status: 422,
    title: 'A port refers to an unknown node',
    help: 'A port of `port_template` names a node that the topology does not have. Use one of the nodes in `detail`.',
  },
  unauthenticated: {
    status: 401,
    title: 'Authentication required',
    help:
      'The request has no token, or a token that is not valid. Use `.lcm/admin-token`, `--token` or ' +
      '`LCM_TOKEN`; in a browser, sign in with a token or with a link from `lcm open`.',
  },
  login_code_invalid: {
    status: 401,
    title: 'The login link is not valid',
    help:
      'The link was used before, has expired or is wrong. A login link works once, for ten minutes. Create a ' +
      'new one with `lcm open`.',
  },
  forbidden: {
    status: 403,
    title: 'Not allowed for your role',
    help: 'Your role does not permit this operation. Use a token with another role; `GET /info` shows yours.',
  },
  foreign_origin: {
    status: 403,
    title: 'Cross-site request refused',
    help: 'A browser session may write only from the console itself. Use a token in scripts.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    help: 'The resource or path does not exist, or you are not allowed to see it. Check the id.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    help: 'The path does not support this method. Use one of the methods in `detail`.',
  },
  already_exists: {
    status: 409,
    title: 'Already exists',
    help: 'Another resource has this name, machine or reservation. Choose another one.',
  },
  budget_exceeded: {
    status: 409,
    title: 'The budget does not allow it',
    help: 'Raise the budget in `detail` with `lcm set setting`, wait for its next period, or start a worker yourself.',
  },
  certificate_mismatch: {
    status: 409,
    title: 'CML showed another certificate',
    help: 'Compare the fingerprint in `detail` with that of your server. If it is new, wait a minute and try again.',
  },
  definition_deprecated: {
    status: 409,
    title: 'The definition is deprecated',
    help: 'The definition was replaced or deprecated. Edit the newest version instead.',
  },
  definition_in_use: {
    status: 409,
    title: 'The definition is in use',
    help: 'Sessions that have not ended use this definition. Deprecate it instead, or wait until they end.',
  },
  idempotency_in_progress: {
    status: 409,
    title: 'The same request is in progress',
    help:
      'A request with this `Idempotency-Key` started less than 30 s ago and has no response yet. Repeat it ' +
      'after `Retry-After`.',
  },
  illegal_transition: {
    status: 409,
    title: 'Illegal status change',
    help: 'The lifecycle does not allow this status change. Read the resource again before you decide.',
  },
  key_rotation_blocked: {
    status: 409,
    title: 'The secret key cannot be rotated now',
    help: 'API replicas lack the new secret key, or there is none. `detail` says what to do. Then repeat the request.',
  },
  lab_gone: {
    status: 409,
    title: 'The lab no longer exists',
    help: 'The lab was deleted, or the latest scan of its worker did not find it. Create a new one.',
  },
  lab_in_use: {
    status: 409,
    title: 'The lab is in use',
    help: 'The lab belongs to a session that has not ended. Cancel the session instead.',
  },
  license_pool_in_use: {
    status: 409,
    title: 'Seats of the license pool are in use',
    help:
      'Workers or license leaks use more seats than would remain; `detail` names them. Terminate workers or deregister their ' +
      'licenses, resolve the leaks, and try again.',
  },
  license_pool_missing: {
    status: 409,
    title: 'There is no license pool of this product',
    help: 'Send a token with the request, or create the pool first with `lcm create license-pool`.',
  },
  managed_by_provider: {
    status: 409,
    title: 'The identity provider manages this person',
    help:
      'Name, email, role and groups come from the identity provider with every sign-in, and so does the way to ' +
      'sign in. Change them there.',
  },
  no_capacity: {
    status: 409,
    title: 'The worker has no capacity',
    help:
      'The worker cannot take the session or its ports now; `detail` has the reason. The scheduler tries ' +
      'another worker.',
  },
  no_capacity_at_that_time: {
    status: 409,
    title: 'No capacity at that time',
    help:
      'The machines that LCM has or may buy are booked at that time; `detail` has the reason, `free_seats` how many seats ' +
      'would fit, and `alternatives` the nearest starts that work. Book one of them, or book with `best_effort: true` ' +
      'to get what the promises leave.',
  },
  person_built_in: {
    status: 409,
    title: 'The person belongs to the first token',
    help:
      'This person owns the administrator token that LCM started with, which is the last way in. It cannot be ' +
      'renamed, demoted, removed or merged into another.',
  },
  person_has_sessions: {
    status: 409,
    title: 'The person has open sessions',
    help: 'Cancel the sessions, or give them to another person with `lcm merge person`. Then remove the person.',
  },
  person_merging: {
    status: 409,
    title: 'The person is being merged',
    help:
      'Everything of this person moves to another one, and the record is removed within minutes. Use the other ' +
      'person.',
  },
  quota_exceeded: {
    status: 409,
    title: 'The quota is used up',
    help:
      'The booking would exceed your quota; `detail` says which limit, and `reason` has its values. Cancel a session, book ' +
      'a nearer or shorter one, or ask an operator to raise the limit with `lcm set quota`.',
  },
  save_in_use: {
    status: 409,
    title: 'The save is in use',
    help: 'A session that has not ended was booked from this save and may need it again. Cancel that session, or wait for its end.',
  },
  save_unreadable: {
    status: 409,
    title: 'The content of the save cannot be read',
    help:
      'The secret key that sealed it is lost, or its content was changed. Add the key to `LCM_SECRET_KEY` again, or delete ' +
      'the save.',
  },
  saves_disabled: {
    status: 409,
    title: 'Saves are off for this definition',
    help: 'The author of the definition switched saves off. Ask the author to set `saves_enabled`.',
  },
  scale_up_rejected: {
    status: 409,
    title: 'Scale-up refused',
    help: 'A limit, a cooldown or a purchase in progress prevents it; see `detail`. Try again later or change the settings.',
  },
  session_over: {
    status: 409,
    title: 'The session has ended',
    help: 'The session has ended or is ending. Book a new one.',
  },
  session_wrong_state: {
    status: 409,
    title: 'Not possible in this status',
    help: 'The status of the session in `detail` does not allow this operation. Wait until it changes.',
  },
  sign_ins_just_ended: {
    status: 409,
    title: 'Sign-ins were just ended',
    help: 'All sign-ins of the person were ended, so no new one begins with a token for three seconds. Try again after `Retry-After`.',
  },
  source_inline: {
    status: 409,
    title: 'The topology has no source',
    help:
      'The topology was given inline, so it cannot be fetched. PUT the definition with a new topology or a ' +
      'source.',
  },
  stale_leader: {
    status: 409,
    title: 'A newer leader exists',
    help:
      'A newer leader of this service took over; `detail` has both epochs, and the old leader must stop. If ' +
      'etcd was rebuilt or a store was restored, run `lcm services reset-term SERVICE`.',
  },
  template_in_use: {
    status: 409,
    title: 'The template is in use',
    help: 'Workers that are not TERMINATED use this template. Disable it instead, or terminate them first.',
  },
  term_not_registered: {
    status: 409,
    title: 'The term is not registered',
    help: 'A controller wrote before it registered its term. Register it with `PUT /services/{service}/term`.',
  },
  worker_has_sessions: {
    status: 409,
    title: 'The worker has sessions',
    help: 'Use `drain` to wait until the sessions end, or move them. `force: true` stops their labs without a save.',
  },
  worker_held: {
    status: 409,
    title: 'The worker is on hold',
    help: 'An operator stopped or drains the worker, which no policy overrides. Start it with `lcm start worker`.',
  },
  worker_not_failed: {
    status: 409,
    title: 'The worker is not FAILED',
    help: 'Only a FAILED worker can be retried; `detail` has its status.',
  },
  worker_not_running: {
    status: 409,
    title: 'The worker is not RUNNING',
    help: 'Only a RUNNING worker can be drained. Stop or terminate it directly.',
  },
  worker_not_terminated: {
    status: 409,
    title: 'The worker is not TERMINATED',
    help: 'Only the record of a TERMINATED worker can be deleted. Terminate it first.',
  },
  worker_not_trusted: {
    status: 409,
    title: 'The machine is not approved',
    help:
      'LCM sends passwords and license tokens only to machines that it launched or that an operator approved. ' +
      'Approve it with `lcm approve worker`.',
  },
  worker_protected: {
    status: 409,
    title: 'The worker is protected',
    help: 'The worker is protected against termination. PATCH it with `{"protected": false}` first.',
  },
  worker_terminating: {
    status: 409,
    title: 'The worker is being terminated',
    help: 'Termination cannot be undone. Create a new worker.',
  },
  version_mismatch: {
    status: 412,
    title: 'The resource has changed',
    help: 'The resource changed since you read it. Read it again and repeat the request with the new version.',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    help: '`detail` has the limit of the path: 64 KiB for most, 5 MiB for topologies. Send a smaller body.',
  },
  save_too_large: {
    status: 413,
    title: 'The lab is too large to be saved',
    help: 'A save holds at most 4 MiB compressed, from a topology of at most 16 MiB. Remove large configurations from the lab.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    help: 'The body is not JSON. Send `Content-Type: application/json`.',
  },
  wrong_host: {
    status: 421,
    title: 'Wrong host',
    help: 'The `Host` header names another server. Use localhost or 127.0.0.1.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'The idempotency key was used before',
    help: 'This `Idempotency-Key` was sent with another body. Use a new key for a new request.',
  },
  definition_not_active: {
    status: 422,
    title: 'The definition is not ACTIVE',
    help: 'Only an ACTIVE definition can be booked. This one waits for its topology, or is deprecated.',
  },
  definition_not_found: {
    status: 422,
    title: 'Unknown definition',
    help: 'No definition has this id or name. `lcm get definitions` lists them.',
  },
  person_not_found: {
    status: 422,
    title: 'Unknown person',
    help: 'No person has this id. `lcm get people` lists them.',
  },
  region_not_configured: {
    status: 422,
    title: 'The region is not configured',
    help: 'LCM is not configured for this region. Use one of the regions in `detail`.',
  },
  role_too_strong: {
    status: 422,
    title: 'The role exceeds the role of the person',
    help: 'A token permits at most what its person may do. Choose another role, or change the role of the person.',
  },
  save_not_found: {
    status: 422,
    title: 'Unknown save',
    help: 'You have no save with this id, or it was kept for its time and then deleted.',
  },
  template_disabled: {
    status: 422,
    title: 'The template is disabled',
    help: 'No workers can be created from this template. Enable it or use another one.',
  },
  template_not_found: {
    status: 422,
    title: 'Unknown template',
    help: 'No template has this name. `lcm get templates` lists them.',
  },
  timeslot_invalid: {
    status: 422,
    title: 'The timeslot is not valid',
    help:
      'The timeslot ends before it starts, is in the past, or is longer than the definition allows; `detail` ' +
      'says which.',
  },
  precondition_required: {
    status: 428,
    title: 'A precondition is required',
    help: 'Controllers must send the version that a write is based on (`If-Match`) and their term (`lcm-epoch`).',
  },
  too_many_clients: {
    status: 429,
    title: 'Too many event streams',
    help: 'You, or all callers together, have too many open event streams. Close one.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    help: 'You sent more requests, or more data, than one caller may. Wait `Retry-After` seconds and slow down.',
  },
  too_many_attempts: {
    status: 429,
    title: 'Too many failed logins',
    help:
      'The token or login link is wrong, like too many before it from your address or for the same token. A right ' +
      'one works at once; LCM answers wrong ones again after `Retry-After` seconds.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    help: 'LCM has a defect. Its log has the details.',
  },
  backup_unavailable: {
    status: 501,
    title: 'Backup not supported',
    help: 'LCM creates backups of its SQLite store only. Use the tools of your database server.',
  },
  deadline_exceeded: {
    status: 503,
    title: 'Timeout',
    help:
      'The request took too long, and its effect is unknown. Read before you repeat it, or use an ' +
      '`Idempotency-Key`.',
  },
  identity_provider_unavailable: {
    status: 503,
    title: 'The identity provider does not respond',
    help: 'The provider in `LCM_OIDC_ISSUER` does not respond, so new sign-ins fail. Tokens of LCM still work.',
  },
  secret_key_missing: {
    status: 503,
    title: 'This replica lacks a secret key',
    help: 'The text is sealed with a key that this API replica does not have. Add the key to `LCM_SECRET_KEY` and restart it.',
  },
  store_unavailable: {
    status: 503,
    title: 'The store does not respond',
    help: 'The store does not respond or is overloaded. Try again.',
  },
} as const satisfies Record<string, { status: number; title: string; help: string }>

export type ProblemCode = keyof typeof PROBLEMS
