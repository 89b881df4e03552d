// Generated from docs/api/openapi.yaml by packages/contract/scripts/generate.ts. Do not edit.
/** What is known of one operation of the contract. */
export type OperationInfo = {
  readonly id: OperationId;
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  readonly path: string;
  readonly tag: string;
  /** `public`, `authenticated` or the permission the caller needs. */
  readonly permission: string;
  /** The audit action; null for reads and for the agent's calls. */
  readonly audit: string | null;
  readonly pathParameters: readonly string[];
  readonly queryParameters: readonly string[];
  readonly headerParameters: readonly string[];
  readonly body: "required" | "optional" | null;
  readonly statuses: readonly number[];
};

export type OperationId =
  | "getApiIndex"
  | "getOpenapi"
  | "getReference"
  | "getReferenceScript"
  | "getReferenceStyle"
  | "getHealth"
  | "getReadiness"
  | "login"
  | "logout"
  | "getMe"
  | "getOrganisation"
  | "listOrganisations"
  | "createOrganisation"
  | "getOrganisationById"
  | "updateOrganisation"
  | "setQuotas"
  | "listMembers"
  | "addMember"
  | "getMember"
  | "updateMember"
  | "removeMember"
  | "listTokens"
  | "createToken"
  | "getToken"
  | "revokeToken"
  | "rotateToken"
  | "listAudit"
  | "getCatalog"
  | "checkCatalog"
  | "listRegions"
  | "createRegion"
  | "getRegion"
  | "updateRegion"
  | "getRegionCapacity"
  | "listAgentTokens"
  | "createAgentToken"
  | "revokeAgentToken"
  | "rotateAgentToken"
  | "listSshKeys"
  | "createSshKey"
  | "getSshKey"
  | "updateSshKey"
  | "deleteSshKey"
  | "listNetworks"
  | "createNetwork"
  | "getNetwork"
  | "updateNetwork"
  | "deleteNetwork"
  | "listSubnets"
  | "createSubnet"
  | "getSubnet"
  | "updateSubnet"
  | "deleteSubnet"
  | "listIpPools"
  | "createIpPool"
  | "getIpPool"
  | "updateIpPool"
  | "deleteIpPool"
  | "listIpPoolRanges"
  | "addIpPoolRange"
  | "removeIpPoolRange"
  | "getIpPoolUtilisation"
  | "listIpPoolAllocations"
  | "allocateIpPoolAddresses"
  | "withdrawIpPoolAddress"
  | "listPublicIps"
  | "createPublicIp"
  | "getPublicIp"
  | "updatePublicIp"
  | "deletePublicIp"
  | "attachPublicIp"
  | "detachPublicIp"
  | "listServers"
  | "createServer"
  | "importServer"
  | "getServer"
  | "updateServer"
  | "deleteServer"
  | "cancelServerDeletion"
  | "powerServer"
  | "resizeServer"
  | "openServerConsole"
  | "listServerConsoleSessions"
  | "endServerConsoleSession"
  | "rebuildServer"
  | "resetServerPassword"
  | "lockServer"
  | "unlockServer"
  | "listJobs"
  | "getJob"
  | "streamJobEvents"
  | "cancelJob"
  | "retryJob"
  | "listUsage"
  | "listUsageSegments"
  | "summariseUsage"
  | "exportUsageCsv"
  | "exportUsageNdjson"
  | "listQuotas"
  | "getInvariants"
  | "listDrift"
  | "claimJob"
  | "claimConsole"
  | "reportStep"
  | "reportHealth"
  | "reportInventory";

/** Every operation of the contract by its operationId. */
export const operations: { readonly [id in OperationId]: OperationInfo } = {
  getApiIndex: {"id":"getApiIndex","method":"get","path":"/","tag":"meta","permission":"public","audit":null,"pathParameters":[],"queryParameters":[],"headerParameters":[],"body":null,"statuses":[200]},
  getOpenapi: {"id":"getOpenapi","method":"get","path":"/openapi.json","tag":"meta","permission":"public","audit":null,"pathParameters":[],"queryParameters":[],"headerParameters":[],"body":null,"statuses":[200]},
  getReference: {"id":"getReference","method":"get","path":"/docs","tag":"meta","permission":"public","audit":null,"pathParameters":[],"queryParameters":[],"headerParameters":[],"body":null,"statuses":[200]},
  getReferenceScript: {"id":"getReferenceScript","method":"get","path":"/docs/reference.js","tag":"meta","permission":"public","audit":null,"pathParameters":[],"queryParameters":[],"headerParameters":[],"body":null,"statuses":[200,503]},
  getReferenceStyle: {"id":"getReferenceStyle","method":"get","path":"/docs/reference.css","tag":"meta","permission":"public","audit":null,"pathParameters":[],"queryParameters":[],"headerParameters":[],"body":null,"statuses":[200,503]},
  getHealth: {"id":"getHealth","method":"get","path":"/healthz","tag":"meta","permission":"public","audit":null,"pathParameters":[],"queryParameters":[],"headerParameters":[],"body":null,"statuses":[200]},
  getReadiness: {"id":"getReadiness","method":"get","path":"/readyz","tag":"meta","permission":"public","audit":null,"pathParameters":[],"queryParameters":[],"headerParameters":[],"body":null,"statuses":[200,503]},
  login: {"id":"login","method":"post","path":"/auth/login","tag":"identity","permission":"public","audit":"session.open","pathParameters":[],"queryParameters":[],"headerParameters":[],"body":"required","statuses":[200,400,401,422,429,503]},
  logout: {"id":"logout","method":"post","path":"/auth/logout","tag":"identity","permission":"authenticated","audit":"session.close","pathParameters":[],"queryParameters":[],"headerParameters":[],"body":null,"statuses":[204,401,409,429,503]},
  getMe: {"id":"getMe","method":"get","path":"/me","tag":"identity","permission":"authenticated","audit":null,"pathParameters":[],"queryParameters":[],"headerParameters":[],"body":null,"statuses":[200,401,429,503]},
  getOrganisation: {"id":"getOrganisation","method":"get","path":"/organisation","tag":"identity","permission":"organisation:read","audit":null,"pathParameters":[],"queryParameters":[],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,422,429,503]},
  listOrganisations: {"id":"listOrganisations","method":"get","path":"/organisations","tag":"identity","permission":"operator:organisations","audit":null,"pathParameters":[],"queryParameters":["limit","cursor","name"],"headerParameters":[],"body":null,"statuses":[200,401,403,422,429,503]},
  createOrganisation: {"id":"createOrganisation","method":"post","path":"/organisations","tag":"identity","permission":"operator:organisations","audit":"organisation.create","pathParameters":[],"queryParameters":[],"headerParameters":["Idempotency-Key"],"body":"required","statuses":[201,400,401,403,409,422,429,503]},
  getOrganisationById: {"id":"getOrganisationById","method":"get","path":"/organisations/{organisation_id}","tag":"identity","permission":"operator:organisations","audit":null,"pathParameters":["organisation_id"],"queryParameters":[],"headerParameters":[],"body":null,"statuses":[200,401,403,404,429,503]},
  updateOrganisation: {"id":"updateOrganisation","method":"patch","path":"/organisations/{organisation_id}","tag":"identity","permission":"operator:organisations","audit":"organisation.update","pathParameters":["organisation_id"],"queryParameters":[],"headerParameters":["Idempotency-Key","If-Match"],"body":"required","statuses":[200,400,401,403,404,409,412,422,429,503]},
  setQuotas: {"id":"setQuotas","method":"put","path":"/organisations/{organisation_id}/quotas","tag":"quotas","permission":"operator:organisations","audit":"organisation.set_quotas","pathParameters":["organisation_id"],"queryParameters":[],"headerParameters":["Idempotency-Key"],"body":"required","statuses":[200,400,401,403,404,409,422,429,503]},
  listMembers: {"id":"listMembers","method":"get","path":"/members","tag":"identity","permission":"member:read","audit":null,"pathParameters":[],"queryParameters":["limit","cursor"],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,422,429,503]},
  addMember: {"id":"addMember","method":"post","path":"/members","tag":"identity","permission":"member:manage","audit":"member.add","pathParameters":[],"queryParameters":[],"headerParameters":["Idempotency-Key","Kule-Organisation"],"body":"required","statuses":[201,400,401,403,409,422,429,503]},
  getMember: {"id":"getMember","method":"get","path":"/members/{member_id}","tag":"identity","permission":"member:read","audit":null,"pathParameters":["member_id"],"queryParameters":[],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,404,422,429,503]},
  updateMember: {"id":"updateMember","method":"patch","path":"/members/{member_id}","tag":"identity","permission":"member:manage","audit":"member.update","pathParameters":["member_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Idempotency-Key"],"body":"required","statuses":[200,400,401,403,404,409,422,429,503]},
  removeMember: {"id":"removeMember","method":"delete","path":"/members/{member_id}","tag":"identity","permission":"member:manage","audit":"member.remove","pathParameters":["member_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Idempotency-Key"],"body":null,"statuses":[204,401,403,404,409,422,429,503]},
  listTokens: {"id":"listTokens","method":"get","path":"/tokens","tag":"identity","permission":"token:read","audit":null,"pathParameters":[],"queryParameters":["limit","cursor"],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,422,429,503]},
  createToken: {"id":"createToken","method":"post","path":"/tokens","tag":"identity","permission":"token:manage","audit":"token.create","pathParameters":[],"queryParameters":[],"headerParameters":["Idempotency-Key","Kule-Organisation"],"body":"required","statuses":[201,400,401,403,409,422,429,503]},
  getToken: {"id":"getToken","method":"get","path":"/tokens/{token_id}","tag":"identity","permission":"token:read","audit":null,"pathParameters":["token_id"],"queryParameters":[],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,404,422,429,503]},
  revokeToken: {"id":"revokeToken","method":"delete","path":"/tokens/{token_id}","tag":"identity","permission":"token:manage","audit":"token.revoke","pathParameters":["token_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Idempotency-Key"],"body":null,"statuses":[204,401,403,404,409,422,429,503]},
  rotateToken: {"id":"rotateToken","method":"post","path":"/tokens/{token_id}/rotate","tag":"identity","permission":"token:manage","audit":"token.rotate","pathParameters":["token_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Idempotency-Key"],"body":"optional","statuses":[201,400,401,403,404,409,422,429,503]},
  listAudit: {"id":"listAudit","method":"get","path":"/audit","tag":"identity","permission":"audit:read","audit":null,"pathParameters":[],"queryParameters":["limit","cursor","action","resource"],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,422,429,503]},
  getCatalog: {"id":"getCatalog","method":"get","path":"/catalog","tag":"catalog","permission":"catalog:read","audit":null,"pathParameters":[],"queryParameters":[],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,422,429,503]},
  checkCatalog: {"id":"checkCatalog","method":"post","path":"/catalog/check","tag":"catalog","permission":"catalog:read","audit":null,"pathParameters":[],"queryParameters":[],"headerParameters":["Kule-Organisation"],"body":"required","statuses":[200,400,401,403,422,429,503]},
  listRegions: {"id":"listRegions","method":"get","path":"/regions","tag":"regions","permission":"operator:regions","audit":null,"pathParameters":[],"queryParameters":["limit","cursor"],"headerParameters":[],"body":null,"statuses":[200,401,403,422,429,503]},
  createRegion: {"id":"createRegion","method":"post","path":"/regions","tag":"regions","permission":"operator:regions","audit":"region.create","pathParameters":[],"queryParameters":[],"headerParameters":["Idempotency-Key"],"body":"required","statuses":[201,400,401,403,409,422,429,503]},
  getRegion: {"id":"getRegion","method":"get","path":"/regions/{region}","tag":"regions","permission":"operator:regions","audit":null,"pathParameters":["region"],"queryParameters":[],"headerParameters":[],"body":null,"statuses":[200,401,403,404,429,503]},
  updateRegion: {"id":"updateRegion","method":"patch","path":"/regions/{region}","tag":"regions","permission":"operator:regions","audit":"region.update","pathParameters":["region"],"queryParameters":[],"headerParameters":["Idempotency-Key","If-Match"],"body":"required","statuses":[200,400,401,403,404,409,412,422,429,503]},
  getRegionCapacity: {"id":"getRegionCapacity","method":"get","path":"/regions/{region}/capacity","tag":"regions","permission":"operator:regions","audit":null,"pathParameters":["region"],"queryParameters":[],"headerParameters":[],"body":null,"statuses":[200,401,403,404,429,503]},
  listAgentTokens: {"id":"listAgentTokens","method":"get","path":"/regions/{region}/agent-tokens","tag":"regions","permission":"operator:regions","audit":null,"pathParameters":["region"],"queryParameters":["limit","cursor"],"headerParameters":[],"body":null,"statuses":[200,401,403,404,422,429,503]},
  createAgentToken: {"id":"createAgentToken","method":"post","path":"/regions/{region}/agent-tokens","tag":"regions","permission":"operator:regions","audit":"agent_token.create","pathParameters":["region"],"queryParameters":[],"headerParameters":["Idempotency-Key"],"body":"required","statuses":[201,400,401,403,404,409,422,429,503]},
  revokeAgentToken: {"id":"revokeAgentToken","method":"delete","path":"/regions/{region}/agent-tokens/{token_id}","tag":"regions","permission":"operator:regions","audit":"agent_token.revoke","pathParameters":["region","token_id"],"queryParameters":[],"headerParameters":["Idempotency-Key"],"body":null,"statuses":[204,401,403,404,409,422,429,503]},
  rotateAgentToken: {"id":"rotateAgentToken","method":"post","path":"/regions/{region}/agent-tokens/{token_id}/rotate","tag":"regions","permission":"operator:regions","audit":"agent_token.rotate","pathParameters":["region","token_id"],"queryParameters":[],"headerParameters":["Idempotency-Key"],"body":"optional","statuses":[201,400,401,403,404,409,422,429,503]},
  listSshKeys: {"id":"listSshKeys","method":"get","path":"/ssh-keys","tag":"ssh-keys","permission":"ssh_key:read","audit":null,"pathParameters":[],"queryParameters":["limit","cursor","name","label_selector"],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,422,429,503]},
  createSshKey: {"id":"createSshKey","method":"post","path":"/ssh-keys","tag":"ssh-keys","permission":"ssh_key:create","audit":"ssh_key.create","pathParameters":[],"queryParameters":[],"headerParameters":["Idempotency-Key","Kule-Organisation"],"body":"required","statuses":[201,400,401,403,409,422,429,503]},
  getSshKey: {"id":"getSshKey","method":"get","path":"/ssh-keys/{ssh_key_id}","tag":"ssh-keys","permission":"ssh_key:read","audit":null,"pathParameters":["ssh_key_id"],"queryParameters":[],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,404,422,429,503]},
  updateSshKey: {"id":"updateSshKey","method":"patch","path":"/ssh-keys/{ssh_key_id}","tag":"ssh-keys","permission":"ssh_key:update","audit":"ssh_key.update","pathParameters":["ssh_key_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Idempotency-Key","If-Match"],"body":"required","statuses":[200,400,401,403,404,409,412,422,429,503]},
  deleteSshKey: {"id":"deleteSshKey","method":"delete","path":"/ssh-keys/{ssh_key_id}","tag":"ssh-keys","permission":"ssh_key:delete","audit":"ssh_key.delete","pathParameters":["ssh_key_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Idempotency-Key","If-Match"],"body":null,"statuses":[204,401,403,404,409,412,422,429,503]},
  listNetworks: {"id":"listNetworks","method":"get","path":"/networks","tag":"networks","permission":"network:read","audit":null,"pathParameters":[],"queryParameters":["limit","cursor","name","region","label_selector"],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,422,429,503]},
  createNetwork: {"id":"createNetwork","method":"post","path":"/networks","tag":"networks","permission":"network:create","audit":"network.create","pathParameters":[],"queryParameters":[],"headerParameters":["Idempotency-Key","Kule-Organisation"],"body":"required","statuses":[201,400,401,403,409,422,429,503]},
  getNetwork: {"id":"getNetwork","method":"get","path":"/networks/{network_id}","tag":"networks","permission":"network:read","audit":null,"pathParameters":["network_id"],"queryParameters":[],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,404,422,429,503]},
  updateNetwork: {"id":"updateNetwork","method":"patch","path":"/networks/{network_id}","tag":"networks","permission":"network:update","audit":"network.update","pathParameters":["network_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Idempotency-Key","If-Match"],"body":"required","statuses":[200,400,401,403,404,409,412,422,429,503]},
  deleteNetwork: {"id":"deleteNetwork","method":"delete","path":"/networks/{network_id}","tag":"networks","permission":"network:delete","audit":"network.delete","pathParameters":["network_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Idempotency-Key","If-Match"],"body":null,"statuses":[204,401,403,404,409,412,422,429,503]},
  listSubnets: {"id":"listSubnets","method":"get","path":"/networks/{network_id}/subnets","tag":"networks","permission":"network:read","audit":null,"pathParameters":["network_id"],"queryParameters":["limit","cursor","name"],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,404,422,429,503]},
  createSubnet: {"id":"createSubnet","method":"post","path":"/networks/{network_id}/subnets","tag":"networks","permission":"network:create","audit":"subnet.create","pathParameters":["network_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Idempotency-Key"],"body":"required","statuses":[201,400,401,403,404,409,422,429,503]},
  getSubnet: {"id":"getSubnet","method":"get","path":"/networks/{network_id}/subnets/{subnet_id}","tag":"networks","permission":"network:read","audit":null,"pathParameters":["network_id","subnet_id"],"queryParameters":[],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,404,422,429,503]},
  updateSubnet: {"id":"updateSubnet","method":"patch","path":"/networks/{network_id}/subnets/{subnet_id}","tag":"networks","permission":"network:update","audit":"subnet.update","pathParameters":["network_id","subnet_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Idempotency-Key","If-Match"],"body":"required","statuses":[200,400,401,403,404,409,412,422,429,503]},
  deleteSubnet: {"id":"deleteSubnet","method":"delete","path":"/networks/{network_id}/subnets/{subnet_id}","tag":"networks","permission":"network:delete","audit":"subnet.delete","pathParameters":["network_id","subnet_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Idempotency-Key","If-Match"],"body":null,"statuses":[204,401,403,404,409,412,422,429,503]},
  listIpPools: {"id":"listIpPools","method":"get","path":"/ip-pools","tag":"ip-pools","permission":"operator:ip_pools","audit":null,"pathParameters":[],"queryParameters":["limit","cursor","name","region"],"headerParameters":[],"body":null,"statuses":[200,401,403,422,429,503]},
  createIpPool: {"id":"createIpPool","method":"post","path":"/ip-pools","tag":"ip-pools","permission":"operator:ip_pools","audit":"ip_pool.create","pathParameters":[],"queryParameters":[],"headerParameters":["Idempotency-Key"],"body":"required","statuses":[201,400,401,403,409,422,429,503]},
  getIpPool: {"id":"getIpPool","method":"get","path":"/ip-pools/{ip_pool_id}","tag":"ip-pools","permission":"operator:ip_pools","audit":null,"pathParameters":["ip_pool_id"],"queryParameters":[],"headerParameters":[],"body":null,"statuses":[200,401,403,404,429,503]},
  updateIpPool: {"id":"updateIpPool","method":"patch","path":"/ip-pools/{ip_pool_id}","tag":"ip-pools","permission":"operator:ip_pools","audit":"ip_pool.update","pathParameters":["ip_pool_id"],"queryParameters":[],"headerParameters":["Idempotency-Key","If-Match"],"body":"required","statuses":[200,400,401,403,404,409,412,422,429,503]},
  deleteIpPool: {"id":"deleteIpPool","method":"delete","path":"/ip-pools/{ip_pool_id}","tag":"ip-pools","permission":"operator:ip_pools","audit":"ip_pool.delete","pathParameters":["ip_pool_id"],"queryParameters":[],"headerParameters":["Idempotency-Key","If-Match"],"body":null,"statuses":[204,401,403,404,409,412,422,429,503]},
  listIpPoolRanges: {"id":"listIpPoolRanges","method":"get","path":"/ip-pools/{ip_pool_id}/ranges","tag":"ip-pools","permission":"operator:ip_pools","audit":null,"pathParameters":["ip_pool_id"],"queryParameters":["limit","cursor"],"headerParameters":[],"body":null,"statuses":[200,401,403,404,422,429,503]},
  addIpPoolRange: {"id":"addIpPoolRange","method":"post","path":"/ip-pools/{ip_pool_id}/ranges","tag":"ip-pools","permission":"operator:ip_pools","audit":"ip_pool.range_add","pathParameters":["ip_pool_id"],"queryParameters":[],"headerParameters":["Idempotency-Key"],"body":"required","statuses":[201,400,401,403,404,409,422,429,503]},
  removeIpPoolRange: {"id":"removeIpPoolRange","method":"delete","path":"/ip-pools/{ip_pool_id}/ranges/{range_id}","tag":"ip-pools","permission":"operator:ip_pools","audit":"ip_pool.range_remove","pathParameters":["ip_pool_id","range_id"],"queryParameters":[],"headerParameters":["Idempotency-Key"],"body":null,"statuses":[204,401,403,404,409,422,429,503]},
  getIpPoolUtilisation: {"id":"getIpPoolUtilisation","method":"get","path":"/ip-pools/{ip_pool_id}/utilisation","tag":"ip-pools","permission":"operator:ip_pools","audit":null,"pathParameters":["ip_pool_id"],"queryParameters":[],"headerParameters":[],"body":null,"statuses":[200,401,403,404,429,503]},
  listIpPoolAllocations: {"id":"listIpPoolAllocations","method":"get","path":"/ip-pools/{ip_pool_id}/allocations","tag":"ip-pools","permission":"operator:ip_pools","audit":null,"pathParameters":["ip_pool_id"],"queryParameters":["limit","cursor"],"headerParameters":[],"body":null,"statuses":[200,401,403,404,422,429,503]},
  allocateIpPoolAddresses: {"id":"allocateIpPoolAddresses","method":"post","path":"/ip-pools/{ip_pool_id}/allocations","tag":"ip-pools","permission":"operator:ip_pools","audit":"ip_pool.allocate","pathParameters":["ip_pool_id"],"queryParameters":[],"headerParameters":["Idempotency-Key"],"body":"required","statuses":[201,400,401,403,404,409,422,429,503]},
  withdrawIpPoolAddress: {"id":"withdrawIpPoolAddress","method":"delete","path":"/ip-pools/{ip_pool_id}/allocations/{address}","tag":"ip-pools","permission":"operator:ip_pools","audit":"ip_pool.withdraw","pathParameters":["ip_pool_id","address"],"queryParameters":[],"headerParameters":["Idempotency-Key"],"body":null,"statuses":[204,401,403,404,409,422,429,503]},
  listPublicIps: {"id":"listPublicIps","method":"get","path":"/public-ips","tag":"public-ips","permission":"public_ip:read","audit":null,"pathParameters":[],"queryParameters":["limit","cursor","region","label_selector"],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,422,429,503]},
  createPublicIp: {"id":"createPublicIp","method":"post","path":"/public-ips","tag":"public-ips","permission":"public_ip:create","audit":"public_ip.create","pathParameters":[],"queryParameters":[],"headerParameters":["Idempotency-Key","Kule-Organisation"],"body":"required","statuses":[201,400,401,403,409,422,429,503]},
  getPublicIp: {"id":"getPublicIp","method":"get","path":"/public-ips/{public_ip_id}","tag":"public-ips","permission":"public_ip:read","audit":null,"pathParameters":["public_ip_id"],"queryParameters":[],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,404,422,429,503]},
  updatePublicIp: {"id":"updatePublicIp","method":"patch","path":"/public-ips/{public_ip_id}","tag":"public-ips","permission":"public_ip:update","audit":"public_ip.update","pathParameters":["public_ip_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Idempotency-Key","If-Match"],"body":"required","statuses":[200,400,401,403,404,409,412,422,429,503]},
  deletePublicIp: {"id":"deletePublicIp","method":"delete","path":"/public-ips/{public_ip_id}","tag":"public-ips","permission":"public_ip:delete","audit":"public_ip.delete","pathParameters":["public_ip_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Idempotency-Key","If-Match"],"body":null,"statuses":[204,401,403,404,409,412,422,429,503]},
  attachPublicIp: {"id":"attachPublicIp","method":"post","path":"/public-ips/{public_ip_id}/attach","tag":"public-ips","permission":"public_ip:update","audit":"public_ip.attach","pathParameters":["public_ip_id"],"queryParameters":["dry_run"],"headerParameters":["Kule-Organisation","Idempotency-Key","If-Match"],"body":"required","statuses":[200,202,400,401,403,404,409,412,422,429,503]},
  detachPublicIp: {"id":"detachPublicIp","method":"post","path":"/public-ips/{public_ip_id}/detach","tag":"public-ips","permission":"public_ip:update","audit":"public_ip.detach","pathParameters":["public_ip_id"],"queryParameters":["dry_run"],"headerParameters":["Kule-Organisation","Idempotency-Key","If-Match"],"body":null,"statuses":[200,202,401,403,404,409,412,422,429,503]},
  listServers: {"id":"listServers","method":"get","path":"/servers","tag":"servers","permission":"server:read","audit":null,"pathParameters":[],"queryParameters":["limit","cursor","name","region","status","label_selector","sort","q"],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,422,429,503]},
  createServer: {"id":"createServer","method":"post","path":"/servers","tag":"servers","permission":"server:create","audit":"server.create","pathParameters":[],"queryParameters":["dry_run"],"headerParameters":["Idempotency-Key","Kule-Organisation"],"body":"required","statuses":[200,202,400,401,403,409,422,429,503]},
  importServer: {"id":"importServer","method":"post","path":"/servers/import","tag":"servers","permission":"operator:servers","audit":"server.import","pathParameters":[],"queryParameters":["dry_run"],"headerParameters":["Idempotency-Key","Kule-Organisation"],"body":"required","statuses":[200,202,400,401,403,409,422,429,503]},
  getServer: {"id":"getServer","method":"get","path":"/servers/{server_id}","tag":"servers","permission":"server:read","audit":null,"pathParameters":["server_id"],"queryParameters":[],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,404,422,429,503]},
  updateServer: {"id":"updateServer","method":"patch","path":"/servers/{server_id}","tag":"servers","permission":"server:update","audit":"server.update","pathParameters":["server_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Idempotency-Key","If-Match"],"body":"required","statuses":[200,202,400,401,403,404,409,412,422,429,503]},
  deleteServer: {"id":"deleteServer","method":"delete","path":"/servers/{server_id}","tag":"servers","permission":"server:delete","audit":"server.delete","pathParameters":["server_id"],"queryParameters":["dry_run","purge"],"headerParameters":["Kule-Organisation","Idempotency-Key","If-Match"],"body":null,"statuses":[200,202,401,403,404,409,412,422,429,503]},
  cancelServerDeletion: {"id":"cancelServerDeletion","method":"post","path":"/servers/{server_id}/cancel-deletion","tag":"servers","permission":"server:delete","audit":"server.cancel_deletion","pathParameters":["server_id"],"queryParameters":["dry_run"],"headerParameters":["Kule-Organisation","Idempotency-Key"],"body":null,"statuses":[200,202,401,403,404,409,422,429,503]},
  powerServer: {"id":"powerServer","method":"post","path":"/servers/{server_id}/power","tag":"servers","permission":"server:update","audit":"server.power","pathParameters":["server_id"],"queryParameters":["dry_run"],"headerParameters":["Kule-Organisation","Idempotency-Key","If-Match"],"body":"required","statuses":[200,202,400,401,403,404,409,412,422,429,503]},
  resizeServer: {"id":"resizeServer","method":"post","path":"/servers/{server_id}/resize","tag":"servers","permission":"server:update","audit":"server.resize","pathParameters":["server_id"],"queryParameters":["dry_run"],"headerParameters":["Kule-Organisation","Idempotency-Key","If-Match"],"body":"required","statuses":[200,202,400,401,403,404,409,412,422,429,503]},
  openServerConsole: {"id":"openServerConsole","method":"post","path":"/servers/{server_id}/console","tag":"servers","permission":"server:console","audit":"server.console","pathParameters":["server_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Idempotency-Key"],"body":"optional","statuses":[201,400,401,403,404,409,422,429,503]},
  listServerConsoleSessions: {"id":"listServerConsoleSessions","method":"get","path":"/servers/{server_id}/console-sessions","tag":"servers","permission":"server:read","audit":null,"pathParameters":["server_id"],"queryParameters":["limit","cursor"],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,404,422,429,503]},
  endServerConsoleSession: {"id":"endServerConsoleSession","method":"delete","path":"/servers/{server_id}/console-sessions/{session_id}","tag":"servers","permission":"server:console","audit":"server.console_end","pathParameters":["server_id","session_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Idempotency-Key"],"body":null,"statuses":[204,401,403,404,409,422,429,503]},
  rebuildServer: {"id":"rebuildServer","method":"post","path":"/servers/{server_id}/rebuild","tag":"servers","permission":"server:rebuild","audit":"server.rebuild","pathParameters":["server_id"],"queryParameters":["dry_run"],"headerParameters":["Kule-Organisation","Idempotency-Key","If-Match"],"body":"required","statuses":[200,202,400,401,403,404,409,412,422,429,503]},
  resetServerPassword: {"id":"resetServerPassword","method":"post","path":"/servers/{server_id}/password-reset","tag":"servers","permission":"server:password_reset","audit":"server.password_reset","pathParameters":["server_id"],"queryParameters":["dry_run"],"headerParameters":["Kule-Organisation","Idempotency-Key","If-Match"],"body":"required","statuses":[200,202,400,401,403,404,409,412,422,429,503]},
  lockServer: {"id":"lockServer","method":"post","path":"/servers/{server_id}/lock","tag":"servers","permission":"operator:servers","audit":"server.lock","pathParameters":["server_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Idempotency-Key"],"body":"required","statuses":[200,400,401,403,404,409,422,429,503]},
  unlockServer: {"id":"unlockServer","method":"post","path":"/servers/{server_id}/unlock","tag":"servers","permission":"operator:servers","audit":"server.unlock","pathParameters":["server_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Idempotency-Key"],"body":null,"statuses":[200,401,403,404,409,422,429,503]},
  listJobs: {"id":"listJobs","method":"get","path":"/jobs","tag":"jobs","permission":"job:read","audit":null,"pathParameters":[],"queryParameters":["limit","cursor","resource","status","kind","region"],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,422,429,503]},
  getJob: {"id":"getJob","method":"get","path":"/jobs/{job_id}","tag":"jobs","permission":"job:read","audit":null,"pathParameters":["job_id"],"queryParameters":["wait"],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,404,422,429,503]},
  streamJobEvents: {"id":"streamJobEvents","method":"get","path":"/jobs/{job_id}/events","tag":"jobs","permission":"job:read","audit":null,"pathParameters":["job_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Last-Event-ID"],"body":null,"statuses":[200,401,403,404,422,429,503]},
  cancelJob: {"id":"cancelJob","method":"post","path":"/jobs/{job_id}/cancel","tag":"jobs","permission":"job:cancel","audit":"job.cancel","pathParameters":["job_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Idempotency-Key"],"body":null,"statuses":[202,401,403,404,409,422,429,503]},
  retryJob: {"id":"retryJob","method":"post","path":"/jobs/{job_id}/retry","tag":"jobs","permission":"job:retry","audit":"job.retry","pathParameters":["job_id"],"queryParameters":[],"headerParameters":["Kule-Organisation","Idempotency-Key"],"body":null,"statuses":[202,401,403,404,409,422,429,503]},
  listUsage: {"id":"listUsage","method":"get","path":"/usage","tag":"usage","permission":"usage:read","audit":null,"pathParameters":[],"queryParameters":["limit","cursor","kind","resource","region","label_selector","from","to"],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,422,429,503]},
  listUsageSegments: {"id":"listUsageSegments","method":"get","path":"/usage/segments","tag":"usage","permission":"usage:read","audit":null,"pathParameters":[],"queryParameters":["limit","cursor","kind","resource","region","label_selector","from","to"],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,422,429,503]},
  summariseUsage: {"id":"summariseUsage","method":"get","path":"/usage/summary","tag":"usage","permission":"usage:read","audit":null,"pathParameters":[],"queryParameters":["limit","cursor","group_by","resource","region","label_selector","from","to"],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,422,429,503]},
  exportUsageCsv: {"id":"exportUsageCsv","method":"get","path":"/usage/export.csv","tag":"usage","permission":"usage:read","audit":null,"pathParameters":[],"queryParameters":["of","resource","region","label_selector","from","to"],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,422,429,503]},
  exportUsageNdjson: {"id":"exportUsageNdjson","method":"get","path":"/usage/export.ndjson","tag":"usage","permission":"usage:read","audit":null,"pathParameters":[],"queryParameters":["of","resource","region","label_selector","from","to"],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,422,429,503]},
  listQuotas: {"id":"listQuotas","method":"get","path":"/quotas","tag":"quotas","permission":"quota:read","audit":null,"pathParameters":[],"queryParameters":[],"headerParameters":["Kule-Organisation"],"body":null,"statuses":[200,401,403,422,429,503]},
  getInvariants: {"id":"getInvariants","method":"get","path":"/operator/invariants","tag":"invariants","permission":"operator:invariants","audit":null,"pathParameters":[],"queryParameters":["fresh"],"headerParameters":[],"body":null,"statuses":[200,401,403,422,429,503]},
  listDrift: {"id":"listDrift","method":"get","path":"/operator/drift","tag":"regions","permission":"operator:drift","audit":null,"pathParameters":[],"queryParameters":["limit","cursor","region","kind","server_id"],"headerParameters":[],"body":null,"statuses":[200,401,403,422,429,503]},
  claimJob: {"id":"claimJob","method":"post","path":"/agent/jobs/claim","tag":"agent","permission":"agent:jobs","audit":null,"pathParameters":[],"queryParameters":[],"headerParameters":[],"body":"required","statuses":[200,204,400,401,403,422,429,503]},
  claimConsole: {"id":"claimConsole","method":"post","path":"/agent/consoles/claim","tag":"agent","permission":"agent:consoles","audit":null,"pathParameters":[],"queryParameters":[],"headerParameters":[],"body":"required","statuses":[200,204,400,401,403,422,429,503]},
  reportStep: {"id":"reportStep","method":"post","path":"/agent/jobs/{job_id}/steps","tag":"agent","permission":"agent:jobs","audit":null,"pathParameters":["job_id"],"queryParameters":[],"headerParameters":[],"body":"required","statuses":[200,400,401,403,404,409,422,429,503]},
  reportHealth: {"id":"reportHealth","method":"post","path":"/agent/health","tag":"agent","permission":"agent:health","audit":null,"pathParameters":[],"queryParameters":[],"headerParameters":[],"body":"required","statuses":[200,400,401,403,422,429,503]},
  reportInventory: {"id":"reportInventory","method":"post","path":"/agent/inventory","tag":"agent","permission":"agent:inventory","audit":null,"pathParameters":[],"queryParameters":[],"headerParameters":[],"body":"required","statuses":[200,400,401,403,422,429,503]},
};
