-- The role and the database of the ledger. The role needs no right but to own its database.
create role tollgate login password 'PASSWORD';
-- Of the encoding and order that Tollgate needs, whatever the server has for others.
create database tollgate owner tollgate template template0 encoding 'UTF8' locale 'C';
