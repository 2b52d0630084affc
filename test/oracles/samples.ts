/**
 * Events as these providers send them, for the vectors that their packages sign. Written from the providers' pages:
 * what names the event stands here apart from the table, and the two must agree.
 */
export interface Sample {
  readonly body: string;
  /** Headers of the provider beside the signature. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The name the provider gives the event; none: it has none, and the body's digest counts. */
  readonly eventId?: string;
}

/** The id with which `sdks/standard.ts` signs. */
const MESSAGE_ID = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W";
/** The id with which the written-out formulas of the provider tests sign. */
const SIGNER_MESSAGE_ID = "msg_sample_1";

export const samples: Readonly<Record<string, Sample>> = {
  clerk: {
    body: '{"data":{"id":"user_29w83sxmDNGwOuEthce5gg56FcC"},"object":"event","timestamp":1795910399012,"type":"user.created"}',
    eventId: MESSAGE_ID,
  },
  supabase: {
    body: '{"user":{"id":"8484b834-f29e-4af2-bf42-80644d154f76","email":"a@example.com"},"email_data":{"email_action_type":"signup"}}',
    eventId: MESSAGE_ID,
  },
  bigcommerce: {
    body: '{"producer":"stores/abcde","scope":"store/order/created","data":{"type":"order","id":173331},"hash":"3f9ea420","created_at":1795910399,"store_id":"1025646"}',
    eventId: MESSAGE_ID,
  },
  resend: {
    body: '{"type":"email.delivered","created_at":"2026-11-28T23:59:59.000Z","data":{"email_id":"56761188-7520-42d8-8898-ff6fc54ce618","to":["a@example.com"]}}',
    eventId: SIGNER_MESSAGE_ID,
  },
  lithic: {
    body: '{"event_type":"card_transaction.updated","token":"0a8ac5dc-5f0f-4a8b-9ad1-5d4e0e3d9c3e","amount":1800}',
    eventId: SIGNER_MESSAGE_ID,
  },
  replicate: {
    body: '{"id":"ufawqhfynnddngldkgtslldrkq","status":"succeeded","output":["https://example.com/out-0.png"],"error":null}',
    eventId: SIGNER_MESSAGE_ID,
  },
  liveblocks: {
    body: '{"type":"storageUpdated","data":{"projectId":"605a4fd31a36d5ea7a2e08f1","roomId":"my-room","updatedAt":"2026-11-28T23:59:59.000Z"}}',
    eventId: SIGNER_MESSAGE_ID,
  },
  gocardless: {
    body: '{"events":[{"id":"EV00BD05S5VM2T","created_at":"2026-11-28T23:59:58.000Z","resource_type":"subscriptions","action":"created","links":{"subscription":"SB0003JJQ2MR06"}}],"meta":{"webhook_id":"WB00BD05S5VM2T"}}',
    eventId: "EV00BD05S5VM2T",
  },
  solidgate: {
    body: '{"order":{"order_id":"o-4711","amount":1020,"currency":"USD","status":"settle_ok"},"transactions":{}}',
    headers: {
      "solidgate-event-id": "a7a7d0de-7b0f-4a04-9e9f-5a5ba3e6d4a2",
      "solidgate-event-type": "card_gate.order.updated",
    },
    eventId: "a7a7d0de-7b0f-4a04-9e9f-5a5ba3e6d4a2",
  },
  cashfree: {
    body: '{"data":{"order":{"order_id":"order_1","order_amount":2}},"event_time":"2026-11-29T05:29:59+05:30","type":"PAYMENT_SUCCESS_WEBHOOK"}',
  },
  "adyen-platform": {
    body: '{"data":{"balancePlatform":"YOUR_BALANCE_PLATFORM","accountHolder":{"id":"AH3227C223222B5CMD2SXFKGT","status":"active"}},"environment":"test","type":"balancePlatform.accountHolder.created"}',
  },
  "shopify-events": {
    body: '{"topic":"Product","action":"create","handle":"all-products","data":{"product":{"id":"gid://shopify/Product/1"}}}',
    eventId: "b54557e4-bdd9-4b37-8a5f-bf7d70bcd043",
  },
  sanity: {
    body: '{"_id":"drafts.1b2c","_type":"post","title":"Grüße"}',
    headers: { "idempotency-key": "g2kqK3JJ-1", "sanity-operation": "update" },
    eventId: "g2kqK3JJ-1",
  },
  webflow: {
    body: '{"triggerType":"form_submission","payload":{"name":"Contact Us","siteId":"65427cf400e02b306eaa049c","data":{"First Name":"Zaphod"},"id":"6321ca84df3949bfc6752327"}}',
  },
  cloudinary: {
    body: '{"notification_type":"upload","public_id":"sample","version":1795910399,"resource_type":"image","bytes":120253}',
  },
  "cloudinary-sha256": {
    body: '{"notification_type":"delete","resources":[{"resource_type":"image","type":"upload","public_id":"sample"}]}',
  },
  workos: {
    body: '{"id":"event_01JDSAMPLE000000000000000","event":"dsync.user.created","data":{"id":"directory_user_1"},"created_at":"2026-11-28T23:59:59.000Z"}',
    eventId: "event_01JDSAMPLE000000000000000",
  },
  smartcar: {
    body: '{"eventId":"c5ca2e4a-1c1f-4a55-9d58-d3b1bd2a4cbf","eventType":"VEHICLE_STATE","data":{"vehicle":{"id":"v1"}},"meta":{"version":"4.0"}}',
    eventId: "c5ca2e4a-1c1f-4a55-9d58-d3b1bd2a4cbf",
  },
  hookdeck: {
    body: '{"hello":"world"}',
    headers: { "x-hookdeck-eventid": "evt_d4vXn6LRpUcm" },
    eventId: "evt_d4vXn6LRpUcm",
  },
  hook0: { body: '{"test":true}', eventId: "evt_1" },
  elevenlabs: {
    body: '{"type":"post_call_transcription","event_timestamp":1795910399,"data":{"agent_id":"xyz","conversation_id":"abc","status":"done"}}',
  },
  retell: {
    body: '{"event":"call_ended","call":{"call_id":"Jabr9TXYYJHfvl6Syypi88rdAHYHmcq6","call_type":"phone_call","duration_ms":1000}}',
    eventId: "call_ended:Jabr9TXYYJHfvl6Syypi88rdAHYHmcq6",
  },
  getstream: {
    body: '{"type":"message.new","cid":"messaging:fun","message":{"id":"fff0d7c0","text":"Grüße"},"created_at":"2026-11-28T23:59:59.5Z"}',
    headers: { "x-webhook-id": "4a3e7bb2-7f1e-4b52-a49a-0f3cbc1a6b45", "x-webhook-attempt": "1" },
    eventId: "4a3e7bb2-7f1e-4b52-a49a-0f3cbc1a6b45",
  },
  hubspot: {
    body: '[{"eventId":100,"subscriptionId":1160452,"portalId":33,"appId":1160452,"occurredAt":1795910399000,"subscriptionType":"contact.creation","attemptNumber":0,"objectId":123}]',
    eventId: "100",
  },
  "hubspot-v3": {
    body: '[{"eventId":3816279340,"subscriptionId":25,"portalId":33,"occurredAt":1795910399000,"subscriptionType":"contact.propertyChange","attemptNumber":0,"objectId":123,"propertyName":"lifecyclestage"}]',
    eventId: "3816279340",
  },
  telnyx: {
    body: '{"data":{"event_type":"message.received","id":"b301ed3f-1490-491f-995f-6e64e69674d4","occurred_at":"2026-11-28T23:59:58.000Z","payload":{"text":"Hello"},"record_type":"event"},"meta":{"attempt":1}}',
    eventId: "b301ed3f-1490-491f-995f-6e64e69674d4",
  },
  plaid: {
    body: '{\n  "environment": "production",\n  "item_id": "wz666MBjYWTp2PDzzggYhM6oWWmBb",\n  "webhook_code": "DEFAULT_UPDATE",\n  "webhook_type": "TRANSACTIONS"\n}',
  },
  "google-pubsub": {
    body: '{"message":{"attributes":{"eventType":"OBJECT_FINALIZE"},"data":"SGVsbG8gQ2xvdWQ=","messageId":"2070443601311540","publishTime":"2026-11-28T23:59:59.000Z"},"subscription":"projects/p/subscriptions/s"}',
    eventId: "2070443601311540",
  },
  monday: {
    body: '{"event":{"userId":9603417,"triggerUuid":"645fc8d8709d35718f1ae00ceded91e9","boardId":1771812698,"type":"create_pulse","pulseId":1772099344}}',
    eventId: "645fc8d8709d35718f1ae00ceded91e9",
  },
};
