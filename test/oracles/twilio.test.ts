import { describe, expect, test } from "vitest";
import type { Oracle } from "./oracle.ts";
import { twilioForms } from "./sdks/messaging.ts";
import { type Sent, Subject, URL_TEXT } from "./subject.ts";

/** Twilio signs addresses and forms in many ways; its own package is asked about each of them. */

const FORM = "application/x-www-form-urlencoded";

async function verdicts(
  sent: Sent,
  accepts: Oracle["accepts"],
  publicUrl: string | null = null,
): Promise<{ ours: boolean; theirs: boolean }> {
  const subject = new Subject({ provider: "twilio", package: "twilio", accepts });
  const { secret } = subject.signer;
  const theirs = await subject.theirs(publicUrl === null ? sent : { ...sent, url: publicUrl }, secret);
  return { ours: await subject.ours(sent, [secret], undefined, publicUrl), theirs };
}

const subject = new Subject({ provider: "twilio", package: "twilio", accepts: () => true });
const { secret } = subject.signer;

function formRequest(url: string, form: string, signedUrl = url): Sent {
  const signature = twilioForms.sign(secret, signedUrl, twilioForms.formOf(form));
  return { url, headers: { "content-type": FORM, "x-twilio-signature": signature }, body: Buffer.from(form) };
}

describe("twilio's forms", () => {
  test.each([
    ["one value", "MessageSid=SM1&Body=hello"],
    ["no value at all", ""],
    ["an empty value", "MessageSid=SM1&Body="],
    ["names in another order", "b=2&a=1&B=3&A=4"],
    ["a name that comes twice", "MediaUrl=b&MediaUrl=a&MessageSid=SM1"],
    ["the same pair twice", "x=1&x=1&y=2"],
    ["signs beyond ASCII", "Body=%E2%9C%93+%C3%A4&From=%2B15550001111"],
    ["a plus sign and spaces", "Body=a+b%2Bc%20d"],
    ["an ampersand inside a value", "Body=a%26b%3Dc"],
  ])("[P5] %s: the package's signature is taken, and another form is not", async (_, form) => {
    const sent = formRequest(URL_TEXT, form);
    expect(await verdicts(sent, twilioForms.acceptsForm)).toEqual({ ours: true, theirs: true });
    const altered = { ...sent, body: Buffer.from(`${form}&z=9`) };
    expect(await verdicts(altered, twilioForms.acceptsForm)).toEqual({ ours: false, theirs: false });
  });
});

describe("twilio's addresses", () => {
  test.each([
    ["with the port, registered without", "https://hooks.example.com/in/tok", "https://hooks.example.com:443/in/tok"],
    ["without the port, registered with", "https://hooks.example.com:443/in/tok", "https://hooks.example.com/in/tok"],
    ["another port", "https://hooks.example.com:8443/in/tok", "https://hooks.example.com:8443/in/tok"],
    ["a query", "https://hooks.example.com/in/tok?a=1&b=%20x", "https://hooks.example.com/in/tok?a=1&b=%20x"],
  ])("[P5] signed %s", async (_, registered, signed) => {
    const sent = formRequest(URL_TEXT, "MessageSid=SM1", signed);
    expect(await verdicts(sent, twilioForms.acceptsForm, registered)).toEqual({ ours: true, theirs: true });
  });

  test.each([
    ["another host", "https://hooks.example.org/in/tok"],
    ["another path", "https://hooks.example.com/in/other"],
    ["another scheme", "http://hooks.example.com/in/tok"],
    ["another query", "https://hooks.example.com/in/tok?a=2"],
  ])("[P5] signed for %s is refused", async (_, signed) => {
    const sent = formRequest(URL_TEXT, "MessageSid=SM1", signed);
    expect(await verdicts(sent, twilioForms.acceptsForm, URL_TEXT)).toEqual({ ours: false, theirs: false });
  });
});

describe("twilio's JSON", () => {
  const body = '{"type":"com.twilio.messaging.message.sent","data":{"text":"ä"}}';
  const url = `${URL_TEXT}?bodySHA256=${twilioForms.bodyHash(body)}`;
  const signature = twilioForms.sign(secret, url, {});
  const sent: Sent = {
    url,
    headers: { "content-type": "application/json", "x-twilio-signature": signature },
    body: Buffer.from(body),
  };

  test("[P5] an address with the body's hash is taken", async () => {
    expect(await verdicts(sent, twilioForms.acceptsJson)).toEqual({ ours: true, theirs: true });
  });

  test("[P5] another body, another hash, and another signature are refused", async () => {
    const otherBody = { ...sent, body: Buffer.from(body.replace("sent", "read")) };
    const otherHash = { ...sent, url: `${URL_TEXT}?bodySHA256=${twilioForms.bodyHash("{}")}` };
    const otherSignature = {
      ...sent,
      headers: { ...sent.headers, "x-twilio-signature": twilioForms.sign(secret, URL_TEXT, {}) },
    };
    for (const altered of [otherBody, otherHash, otherSignature]) {
      expect(await verdicts(altered, twilioForms.acceptsJson)).toEqual({ ours: false, theirs: false });
    }
  });
});
